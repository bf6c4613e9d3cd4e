"""Read the JSON files of a run folder. Each is checked: it has what `metrics.py` or `records.py` describes, or there is an AlloyError."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, TypeAdapter, ValidationError

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.names import quoted, short
from alloykit.recipe.questions import QUESTIONS, QuestionsRecipe, read_amalgamation
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import ENVIRONMENT, METRICS, RECIPE, SUMMARY, TRAINING
from alloykit.run_folder.metrics import Metrics, check_parts
from alloykit.run_folder.records import EnvironmentRecord, GenerationSummary, TrainingRecord, check_history

Content = TypeVar("Content")

_RUN_AGAIN = "Delete it and run the recipe again with the same `output`: finished parts are kept."
_DELETE = "Delete it: only the report reads it."
_KINDS: dict[str, tuple[TypeAdapter[Any], str]] = {
    METRICS: (TypeAdapter(Annotated[Metrics, AfterValidator(check_parts)]), _RUN_AGAIN),
    TRAINING: (TypeAdapter(Annotated[TrainingRecord, AfterValidator(check_history)]), _DELETE),
    ENVIRONMENT: (TypeAdapter(EnvironmentRecord), _RUN_AGAIN),
    SUMMARY: (TypeAdapter(GenerationSummary), _DELETE),
}
_MAX_BYTES = 2**30  # the largest real metrics.json, with thousands of labels, has a tenth of it


def read_metrics(folder: Path) -> Metrics | None:
    """A run's metrics.json; None if it is not there (yet). AlloyError for a damaged file."""
    return cast("Metrics | None", _read(folder / METRICS))


def read_training(folder: Path) -> TrainingRecord | None:
    """A run's training.json; None if there was no training (yet). AlloyError for a damaged file."""
    return cast("TrainingRecord | None", _read(folder / TRAINING))


def read_environment(folder: Path) -> EnvironmentRecord | None:
    """A run's environment.json; None if it is not there. AlloyError for a damaged file."""
    return cast("EnvironmentRecord | None", _read(folder / ENVIRONMENT))


def read_summary(folder: Path) -> GenerationSummary | None:
    """generation.json of a folder of generated texts; None if it is not there. AlloyError for a damaged file."""
    return cast("GenerationSummary | None", _read(folder / SUMMARY))


def recipe_of(folder: Path) -> Recipe:
    """The recipe that made a run. AlloyError if there is none, none that can be read, or one with several questions."""
    found = any_recipe_of(folder)
    if isinstance(found, QuestionsRecipe):
        first = next(iter(found.questions))
        raise AlloyError(
            expected="a run with one question, for this",
            got=f"{folder}, whose student answers {len(found.questions)} ({quoted(found.questions)})",
            hint=f"Name the folder of one question: {folder / QUESTIONS / first}.",
        )
    return found


def any_recipe_of(folder: Path) -> Recipe | QuestionsRecipe:
    """The recipe that made a run, with one question or several. AlloyError if there is none, or none that can be read."""
    return read_amalgamation(folder / RECIPE)


def questions_of_run(folder: Path) -> dict[str, Path]:
    """The folder of each question of a run; empty for a run with one question, and for a folder that is no run. AlloyError."""
    if not os.path.exists(folder / RECIPE):  # also of a name that no path can have
        return {}
    found = any_recipe_of(folder)
    return {name: folder / QUESTIONS / name for name in found.questions} if isinstance(found, QuestionsRecipe) else {}


def _read(path: Path) -> Any:
    kind, hint = _KINDS[path.name]
    return read_checked(path, kind, hint)


def read_checked(path: Path, kind: TypeAdapter[Content], hint: str) -> Content | None:
    """The content of a JSON file, checked against `kind`; None if there is no such file.

    hint: what to do about a damaged file. The AlloyError names the file, up to five keys, and what was expected there.
    """
    if not path.exists():
        return None
    try:
        if not path.is_file():  # a folder, or a pipe, which would wait for a writer
            raise AlloyError(
                expected=f"a file {path}", got="a folder" if path.is_dir() else "something else", hint=hint
            )
        if path.stat().st_size > _MAX_BYTES:
            raise AlloyError(expected=f"a file {path} that alloykit wrote", got="one of more than 1 GB", hint=hint)
        return kind.validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise AlloyError(expected=f"a file {path} that can be read", got=f"'{error.strerror}'", hint=hint) from error
    except ValidationError as error:
        problems = list(dict.fromkeys(map(_problem, error.errors(include_url=False))))
        more = f"\n  - and {len(problems) - 5} more" if problems[5:] else ""
        raise AlloyError(
            expected=f"{path} as alloykit wrote it",
            got="another content:\n" + "\n".join(f"  - {line}" for line in problems[:5]) + f"{more}\n",
            hint=hint,
        ) from error


def _problem(error: Any) -> str:
    """The message for one problem: the key, what was expected, what is there."""
    where = visible(".".join(short(part) for part in error["loc"]))
    message = visible(error["msg"].removeprefix("Value error, "))[:200]
    got = error["input"]
    shown = f", got {visible(repr(got))[:60]}" if isinstance(got, (str, int, float, bool, type(None))) and where else ""
    return f"{where}: {message}{shown}" if where else message + shown
