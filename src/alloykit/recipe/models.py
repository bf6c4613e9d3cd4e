"""The recipe: one YAML file that describes a whole run. An unknown key is an error with a suggestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from alloykit.blocks import Block, Device, FolderText, PathText, Seed
from alloykit.data import TextsOptions
from alloykit.engines.engine_options import EngineOptions
from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.methods import registry
from alloykit.methods.defaults import AMALGAMATION, DISTILLATION
from alloykit.models.long_texts import LongTexts
from alloykit.recipe.overrides import override
from alloykit.recipe.problems import explain, listed
from alloykit.teachers.kinds import AnyTeacher
from alloykit.training.training_options import StudentSpec, TrainingOptions
from alloykit.yaml_files import read_yaml

GENERATE = "generate"


class InMemory(Block):
    """Texts that came from Python and not from a file. It is found only in the recipe of a run folder."""

    in_memory: str
    """Fingerprint of the texts."""


NO_TEXTS = "give a path, or a block such as {path: texts.csv, text: COLUMN}"


def _kind_of_origin(value: Any) -> str | None:
    if isinstance(value, InMemory) or (isinstance(value, Mapping) and "in_memory" in value):
        return "in_memory"
    return "named" if isinstance(value, str | Path | Mapping | TextsOptions) else None


def _kind_of_texts(value: Any) -> str | None:
    return GENERATE if isinstance(value, str) and value == GENERATE else _kind_of_origin(value)


def _all_or_names(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return "names"
    return "all" if value in (True, False, "true", "false") else None


# A value's tag says which member of a union it is meant for, so that only the problems of this member are listed.
_Named = Annotated[TextsOptions, Tag("named")]
_InMemory = Annotated[InMemory, Tag("in_memory")]
TextsOrigin = Annotated[
    _Named | _InMemory,
    Discriminator(_kind_of_origin, custom_error_type="no_texts", custom_error_message=NO_TEXTS),
]
"""Texts in a file, in a folder, in a data set of the hub, or in Python's memory."""
TextsOriginOrGenerate = Annotated[
    _Named | _InMemory | Annotated[Literal["generate"], Tag(GENERATE)],
    Discriminator(_kind_of_texts, custom_error_type="no_texts", custom_error_message=NO_TEXTS),
]
AllOrNames = Annotated[
    Annotated[bool, Tag("all")] | Annotated[list[str], Tag("names")],
    Discriminator(
        _all_or_names, custom_error_type="no_names", custom_error_message="give true, false or a list of labels"
    ),
]


class LabelOptions(Block):
    """How labels of different teachers are joined."""

    aliases: dict[str, str] = Field(default_factory=dict)
    """Other names for labels: {label: name to use instead}. They are applied before labels are joined by name."""
    keep_apart: AllOrNames = False
    """Label names that several teachers use for different classes: a list of names, or true for all names. Each becomes one label per teacher, teacher/label."""
    catch_all: list[str] | None = None
    """Names of labels that mean "none of this teacher's other labels", such as other. A teacher that gives one to a text leaves the text to the teachers
    that name a label. If not given: those that several teachers have under a usual name, such as other, none or out_of_scope. An empty list: there are none."""


class InferenceOptions(Block):
    """How teachers read the texts."""

    seed: Seed = 0
    """Random seed of the Monte-Carlo passes."""
    tokens_per_batch: int | None = Field(None, gt=0)
    """Tokens of a teacher's batch, padding included. Default: 4,096 on a CPU, 65,536 on a GPU. If memory runs out, batches become smaller."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """The number format of the teachers, and of another encoder that reads the texts. auto: bfloat16 on a GPU and on CPUs with native bfloat16, otherwise float32."""
    int8: bool = False
    """Compute the teachers' linear layers in 8 bits. This is twice as fast as float32 on a CPU. The label differed on up to 1.5 % of our test texts."""
    compile: bool = False
    """Compile the teachers with torch.compile. Compiling takes about a minute, so use it on a GPU with many texts."""
    long_texts: LongTexts | None = None
    """What teachers read of a text longer than `max_length`. head: its beginning; tail: its end; head_tail: a quarter from the beginning and the
    rest from the end; mean: all of it, in chunks whose probabilities are averaged. If not given: as the teacher was trained."""

    @model_validator(mode="after")
    def _one_format(self) -> InferenceOptions:
        if self.int8 and self.precision == "bfloat16":
            raise ValueError("give either int8 or precision bfloat16, not both")
        return self


class DataBlock(Block):
    """Labelled texts."""

    data: TextsOrigin
    """A file, a folder or a hub id, or a block with more keys about how to read it. Name the column of the labels with `label:`."""


class EvaluateBlock(DataBlock):
    """Labelled texts to test on."""

    reference: FolderText | None = None
    """The folder of a classifier that was trained on all labels. The report then shows how far the method's targets are from its probabilities."""


class ReportOptions(Block):
    """What the report may show."""

    show_texts: bool = False
    """Show texts in report and metrics, such as those with the lowest confidence. Otherwise only their row numbers are shown."""


def _block_of_engine(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


EngineBlock = Annotated[EngineOptions, BeforeValidator(_block_of_engine)]
"""The `engine:` block, or its name."""


class RecipeBlock(Block):
    """A whole recipe. `kind`: its name for `alloykit schema`."""

    kind: ClassVar[str]


class StudentRecipe(RecipeBlock):
    """The common keys of the recipes that make a student from teachers."""

    training: TrainingOptions = TrainingOptions()
    """How the student is trained."""
    inference: InferenceOptions = InferenceOptions()
    """How teachers read the texts."""
    report: ReportOptions = ReportOptions()
    """What the report may show."""
    engine: EngineBlock = EngineOptions()
    """What computes the teachers' outputs and writes texts: this process, or the workers of a Ray cluster."""
    device: Device = "auto"
    """Where models run. auto: the GPU if there is one, else the CPU."""
    output: FolderText
    """The run folder."""


class _TeachersAndTexts(RecipeBlock):
    """What a student learns from."""

    teachers: list[AnyTeacher] = Field(min_length=1)
    """The teachers: folders or hub ids of fine-tuned classifiers, or blocks of other kinds of teachers."""
    texts: TextsOriginOrGenerate
    """The unlabelled texts (the pool). Or `generate`: the language model of the `generation:` block writes them."""
    generation: GenerationOptions | None = None
    """How the language model writes texts, with `texts: generate`."""
    student: StudentSpec | None = None
    """The encoder from which the student starts. Methods without a student need none."""
    method: dict[str, Any] = Field({"name": AMALGAMATION}, validate_default=True)
    """A method's name, or `{name: …}` with its options. `alloykit methods` lists them."""
    labels: LabelOptions = LabelOptions()
    """How labels of different teachers are joined."""
    validation: DataBlock | None = None
    """Labelled texts to select the student's checkpoint with, for `training: {select: labelled}`."""
    labelled: DataBlock | None = None
    """A few labelled texts. Alloy uses them in its fit, and the student learns their labels."""
    evaluate: EvaluateBlock | None = None
    """Labelled texts to test on. They are never used in training."""

    @field_validator("method", mode="before")
    @classmethod
    def _complete_method(cls, value: Any) -> Any:
        return complete_method(value)


class Recipe(StudentRecipe, _TeachersAndTexts):  # pydantic lists the keys of the last base first
    """For `amalgamate`, `sweep`, `plan`, `doctor`: one student from teachers and unlabelled texts."""

    kind: ClassVar[str] = "amalgamate"

    @model_validator(mode="after")
    def _check_generation(self) -> Recipe:
        if self.texts == GENERATE and self.generation is None:
            raise ValueError("texts: generate needs a `generation:` block with a `language_model`")
        return self


def complete_method(value: Any) -> dict[str, Any]:
    """The `method:` of a recipe with every default written out, so that the recipe in the run folder is complete. ValueError."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping) or "name" not in value:
        raise ValueError("give a name, for instance `method: {name: alloy}`; `alloykit methods` lists them")
    try:
        return registry.spec_of(registry.create(value))
    except ValidationError as error:
        options = registry.methods()[value["name"]].Options
        raise ValueError("; ".join(explain(error, options))) from error
    except AlloyError as error:
        raise ValueError(str(error)) from error


class _LabelledTexts(RecipeBlock):
    """The common keys of the recipes that train teachers."""

    data: TextsOrigin
    """Labelled texts to learn from."""
    labels: list[str] | None = None
    """Use only texts with these labels. Default: all labels of the data."""
    validation: DataBlock | None = None
    """Labelled texts to select the checkpoint with. Default: a held-out share of the data (`training.held_out`)."""
    training: TrainingOptions
    """How the teacher is trained."""
    device: Device = "auto"
    """Where models run. auto: the GPU if there is one, else the CPU."""
    output: FolderText
    """The new teacher's folder. With `--together`: the folder that gets one folder for each teacher."""

    @field_validator("training", mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """Missing keys get the defaults of this kind of recipe, which may differ from those of `TrainingOptions`."""
        defaults = cls.model_fields["training"].default.model_dump(exclude_unset=True)
        if isinstance(value, TrainingOptions):
            value = value.model_dump(exclude_unset=True)
        return {**defaults, **value} if isinstance(value, Mapping) else value


class TeachRecipe(_LabelledTexts):
    """For `teach`: a teacher from an encoder and labelled texts."""

    kind: ClassVar[str] = "teach"
    model: StudentSpec
    """The encoder to fine-tune."""
    training: TrainingOptions = TrainingOptions(select="labelled")
    """How the teacher is trained."""


class TogetherRecipe(_LabelledTexts):
    """For `teach --together`: several teachers, fine-tuned under one shared head."""

    kind: ClassVar[str] = "together"
    models: list[StudentSpec] = Field(min_length=2)
    """The encoders to fine-tune."""
    names: list[PathText] | None = None
    """Names of the folders under `output`, one per model. Default: the last part of each model's path."""
    width: int | None = Field(None, gt=0)
    """Width of the shared head. Default: the width of the widest encoder. Encoders with another width get a linear layer."""
    training: TrainingOptions = TrainingOptions()
    """How they are trained."""

    @model_validator(mode="after")
    def _check(self) -> TogetherRecipe:
        if self.training.select == "labelled":
            raise ValueError(
                "training.select: 'labelled' is for one model; here the checkpoint is selected by the loss of all models. Leave it out"
            )
        if any(spec.head == "pooled" for spec in self.models):
            raise ValueError("models: leave `head` out; all get one pooled head together")
        if len(set(self.model_names)) != len(self.models):
            raise ValueError("names: give one different name for each model")
        if any(Path(name).name != name or name in ("", ".", "..") for name in self.model_names):
            raise ValueError("names: give plain folder names")
        return self

    @property
    def model_names(self) -> list[str]:
        return self.names or [Path(spec.model).name.replace(":", "-") for spec in self.models]


class GenerateRecipe(RecipeBlock):
    """For `generate`: texts for every label of every teacher, from a language model."""

    kind: ClassVar[str] = "generate"
    teachers: list[AnyTeacher] = Field(min_length=1)
    """The teachers that steer the language model: folders or hub ids of classifiers, or blocks of other kinds of teachers."""
    generation: GenerationOptions
    """How texts are written."""
    labels: LabelOptions = LabelOptions()
    """How labels of different teachers are joined."""
    max_length: int = Field(128, gt=1)
    """Tokens of a text that a teacher reads. Longer texts are cut."""
    engine: EngineBlock = EngineOptions()
    """What writes the texts: this process, or the workers of a Ray cluster."""
    device: Device = "auto"
    """Where models run. auto: the GPU if there is one, else the CPU."""
    output: FolderText
    """The folder that gets the texts."""


class DistillRecipe(Recipe):
    """For `distill`: one student from teachers with the same labels, and labelled texts."""

    kind: ClassVar[str] = "distill"
    method: dict[str, Any] = Field({"name": DISTILLATION}, validate_default=True)
    """A method's name, or `{name: …}` with its options. `alloykit methods` lists them."""


AnyRecipe = TypeVar("AnyRecipe", bound=RecipeBlock)


def read_recipe(path: Path, kind: type[AnyRecipe], overrides: Sequence[str] | None = None) -> AnyRecipe:
    """Read and check a recipe file. The AlloyError lists all problems.

    overrides: changes of its values, "training.epochs=5" (`alloykit.recipe.overrides`).
    """
    return parse(recipe_values(path, overrides), kind, name_in_messages(path, overrides))


def name_in_messages(path: Path, overrides: Sequence[str] | None) -> str:
    """How messages call a recipe file that was changed from the command line."""
    return f"{path}, changed by -o {' -o '.join(overrides)}" if overrides else str(path)


def recipe_values(path: Path, overrides: Sequence[str] | None) -> dict[str, Any]:
    """The values of a recipe file, after `overrides`, before they are checked. AlloyError for a file that holds no mapping."""
    if path.is_dir():
        raise AlloyError(expected="a recipe file", got=f"'{path}', which is a folder", hint="Name the YAML file in it.")
    if not path.is_file():
        raise AlloyError(
            expected="a recipe file", got=f"'{path}', which does not exist", hint="Check the path; it is a YAML file."
        )
    values = read_yaml(path)
    if values is None:
        raise AlloyError(expected=f"`key: value` lines in {path}", got="an empty file", hint="Start with `teachers:`.")
    if not isinstance(values, dict):
        raise AlloyError(
            expected=f"`key: value` lines in {path}", got=type(values).__name__, hint="Start with `teachers:`."
        )
    return override(values, overrides) if overrides else values


def parse(values: Mapping[str, Any], kind: type[AnyRecipe], name: str = "the recipe") -> AnyRecipe:
    """Check a recipe that is given as a dictionary. name: the recipe's name in messages. The AlloyError lists all problems."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        lines = explain(error, kind)
        raise AlloyError(
            expected=f"a valid recipe in {name}",
            got=listed(lines),
            hint=f"`alloykit schema {kind.kind}` lists the keys, `alloykit methods NAME` those of a method.",
        ) from error


def dump(recipe: BaseModel) -> str:
    """The recipe as YAML, with every default written out."""
    return yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
