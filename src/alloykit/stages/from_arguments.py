"""A recipe from the arguments of a function in Python: paths, lists, data sets and models in memory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from alloykit.blocks import Block
from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.engines.engine_options import EngineOptions
from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import move_folder
from alloykit.generation.generation_options import GenerationOptions
from alloykit.methods.registry import create
from alloykit.paths import user_path
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.read_recipe import AnyRecipe, parse
from alloykit.recipe.recipe import complete_method
from alloykit.recipe.recipe_blocks import InferenceOptions, LabelOptions, ReportOptions
from alloykit.recipe.typed import (
    AnswersDict,
    EngineDict,
    GenerationDict,
    InferenceDict,
    LabelsDict,
    OnnxDict,
    PythonDict,
    QuestionDict,
    ReportDict,
    ServiceDict,
    SklearnDict,
    StudentDict,
    TeacherDict,
    TextsDict,
    TrainingDict,
    ZeroShotDict,
)
from alloykit.run_folder.file_names import START
from alloykit.teachers.from_python import held_teacher
from alloykit.teachers.hugging_face_in_memory import save_model
from alloykit.teachers.model_fingerprints import weights_fingerprint
from alloykit.training.training_options import StudentSpec, TrainingOptions

Teachers: TypeAlias = Sequence[
    str | Path | TeacherDict | AnswersDict | PythonDict | SklearnDict | OnnxDict | ZeroShotDict | ServiceDict | Any
]
"""Folders or hub ids; dictionaries as in the recipe; or teachers in memory: (model, tokenizer), a pipeline of transformers, an
`alloykit.Teacher`, a fitted classifier of scikit-learn."""
Questions: TypeAlias = Mapping[str, QuestionDict]
"""By name, dictionaries as in the recipe's `questions:`; their teachers may be in memory."""
Student: TypeAlias = str | Path | StudentSpec | StudentDict | tuple[Any, Any]
"""A folder, a hub id or bundled:minilm; in a dictionary also `layers` and more; or (model, tokenizer), which are saved in the run folder."""
TextsLike: TypeAlias = str | Path | TextsOptions | TextsDict | Sequence[Any]
"""A file, a folder or a hub id; the recipe's `texts:` block; a list of strings, of pairs or of dictionaries; one column of a table; a `datasets.Dataset`."""
MethodLike: TypeAlias = str | Mapping[str, Any]
"""A method's name, or a dictionary with `name` and options."""
Labels: TypeAlias = LabelOptions | LabelsDict | None
Training: TypeAlias = TrainingOptions | TrainingDict | None
Inference: TypeAlias = InferenceOptions | InferenceDict | None
Generation: TypeAlias = GenerationOptions | GenerationDict | None
Engine: TypeAlias = str | EngineOptions | EngineDict | None
"""local or ray, or the recipe's `engine:` block."""
Report: TypeAlias = ReportOptions | ReportDict | None


def questions_from_python(
    *,
    evaluate: str | Path | TextsOptions | Mapping[str, Any] | None,
    validation: str | Path | TextsOptions | Mapping[str, Any] | None,
    **arguments: Any,
) -> tuple[QuestionsRecipe, dict[str, Texts]]:
    """`from_python` for a recipe with several questions. evaluate, validation: files of labelled texts, or a `data:` block of the recipe."""

    def block(data: Any) -> Any:
        return None if data is None else {"data": str(data) if isinstance(data, Path) else data}

    return from_python(QuestionsRecipe, evaluate=block(evaluate), validation=block(validation), **arguments)


def from_python(kind: type[AnyRecipe], **arguments: Any) -> tuple[AnyRecipe, dict[str, Texts]]:
    """The recipe, and the texts that are in memory, by the argument's name.

    kind: of the recipe. arguments: its keys; None where one is not given. `evaluate`, `validation` and `labelled` may be texts, instead
    of a block with `data:`. AlloyError for values that are not valid in a recipe.
    """
    tables: dict[str, Texts] = {}
    values = {key: value for key, value in arguments.items() if value is not None}
    if "teachers" in arguments:
        values["teachers"] = teacher_entries(arguments["teachers"])
    if "questions" in arguments:
        values["questions"] = {
            name: {**asked, "teachers": teacher_entries(asked.get("teachers"))}
            for name, asked in _questions(arguments["questions"]).items()
        }
    if "models" in arguments:
        values["models"] = [_model(one) for one in _listed("a list of models", arguments["models"])]
    for key in ("student", "model"):
        if key in values:
            values[key] = _model(_saved(values[key], arguments["output"]))
    values["output"] = str(values["output"]) if isinstance(values["output"], Path) else values["output"]

    def texts(name: str, want_labels: bool) -> Any:
        origin = arguments[name]
        # A DatasetDict is a mapping, too, but no block of a recipe.
        is_block = isinstance(origin, Mapping) and not hasattr(origin, "column_names")
        if is_block or isinstance(origin, (str, Path, TextsOptions)):
            return origin
        tables[name] = load_texts(origin, want_labels=want_labels)
        return {"in_memory": tables[name].fingerprint()}

    if "texts" in arguments:
        values["texts"] = texts("texts", _want_labels(arguments))
    if "data" in arguments:
        values["data"] = texts("data", True)
    for name in ("evaluate", "validation", "labelled"):
        if name in values:
            given = values[name]
            is_block = isinstance(given, Block) or (isinstance(given, Mapping) and "data" in given)
            if not isinstance(given, TextsOptions) and is_block:
                continue
            values[name] = {"data": texts(name, True)}
    return parse(values, kind, "the arguments"), tables


def _want_labels(arguments: Mapping[str, Any]) -> bool:
    """Whether texts in memory need labels. Those of several questions have none: a text in memory has one label."""
    if "method" not in arguments:
        return False
    try:
        needs = create(complete_method(arguments["method"])).needs
    except ValueError:
        return False  # `parse` says what is wrong with the method
    return needs.labels or (needs.generated_texts and arguments.get("generation") is None)


def _questions(given: Any) -> Mapping[str, Mapping[str, Any]]:
    """AlloyError for anything but a dictionary of dictionaries."""
    if not isinstance(given, Mapping) or not all(isinstance(asked, Mapping) for asked in given.values()):
        raise AlloyError(
            expected="a dictionary of questions, each a dictionary",
            got=f"a {type(given).__name__}",
            hint='For instance questions={"topic": {"teachers": ["teachers/news"]}}.',
        )
    return given


def teacher_entries(given: Any) -> list[Any]:
    """The entries of `teachers:`; those of teachers in memory hold their fingerprints. AlloyError for anything that is no teacher."""
    entries = []
    for one in _listed("a list of teachers", given):
        held = held_teacher(one)
        entries.append(str(one) if isinstance(one, Path) else one if held is None else held.spec)
    return entries


def _listed(expected: str, given: Any) -> Sequence[Any]:
    if isinstance(given, (str, Path, Mapping, Block)) or not isinstance(given, Sequence):
        raise _no_model(expected, given)
    return given


def _saved(given: Any, output: Any) -> Any:
    """(model, tokenizer) saved in the run folder, where later commands read it; anything else as it is.

    The folder is named after the weights, and written once."""
    if not (isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "save_pretrained")):
        return given
    model, tokenizer = given
    folder = user_path(output) / START / weights_fingerprint(model)[:16]
    if not folder.exists():
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        save_model(model, tokenizer, part)
        with file_errors(folder):
            move_folder(part, folder)
    return str(folder)


def _model(given: Any) -> Any:
    if not isinstance(given, (str, Path, Mapping, Block)):
        raise _no_model("a folder, a hub id or a dictionary for each model", given)
    return str(given) if isinstance(given, Path) else given


def _no_model(expected: str, got: Any) -> AlloyError:
    """The error for a model object, or for a single path instead of a list."""
    what = f"'{got}'" if isinstance(got, (str, Path)) else f"a {type(got).__name__}"
    loaded = hasattr(got, "save_pretrained")
    hint = "Save it and its tokenizer with save_pretrained(folder), and give the folder." if loaded else (
        'For instance teachers=["teachers/billing", "teachers/tech"].'
    )  # fmt: skip
    return AlloyError(expected=expected, got=what, hint=hint)
