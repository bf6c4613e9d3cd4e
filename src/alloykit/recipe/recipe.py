"""The recipe: one YAML file that describes a whole run. An unknown key is an error with a suggestion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, ValidationError, field_validator, model_validator

from alloykit.blocks import Device, FolderText
from alloykit.engines.engine_options import EngineOptions
from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.methods import registry
from alloykit.methods.defaults import AMALGAMATION, DISTILLATION
from alloykit.recipe.problems import explain
from alloykit.recipe.recipe_blocks import (
    DataBlock,
    EngineBlock,
    EvaluateBlock,
    InferenceOptions,
    LabelOptions,
    RecipeBlock,
    ReportOptions,
)
from alloykit.recipe.texts_origin import GENERATE, TextsOriginOrGenerate
from alloykit.teachers.kinds import AnyTeacher
from alloykit.training.training_options import StudentSpec, TrainingOptions


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


class DistillRecipe(Recipe):
    """For `distill`: one student from teachers with the same labels, and labelled texts."""

    kind: ClassVar[str] = "distill"
    method: dict[str, Any] = Field({"name": DISTILLATION}, validate_default=True)
    """A method's name, or `{name: …}` with its options. `alloykit methods` lists them."""
