"""The folder of a new teacher: what it was made of, and how the finished files get into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from alloykit.blocks import effective
from alloykit.data import Texts
from alloykit.files import sync, write_atomic
from alloykit.knowledge.store.artifacts import Complete, check_made, record_made, recorded, with_defaults_of
from alloykit.models.location import model_identity
from alloykit.recipe.read_recipe import dump
from alloykit.run_folder.output_folder import refuse_others
from alloykit.run_folder.run_folder import unresolved_settings
from alloykit.stages.train_student import save_classifier
from alloykit.training.training_options import StudentSpec

MADE, MADE_OF = "teach.yaml", "made_of.json"  # the recipe, for readers; all inputs, for checks


def check_folder(folder: Path, recipe: BaseModel, encoders: Sequence[StudentSpec]) -> None:
    """AlloyError if the folder holds results of another recipe or of other encoders, or files that are not alloykit's."""
    refuse_others(folder, MADE_OF)
    settings = _settings(recipe, encoders)
    complete = partial(with_defaults_of, type(recipe))
    settings["training"] |= unresolved_settings(recorded(folder / MADE_OF), settings)
    _check(folder, settings, complete)


def check_texts(folder: Path, texts: Texts, validation: Texts | None) -> None:
    """AlloyError if the folder's results were made of other texts."""
    _check(folder, _texts(texts, validation))


def record(
    folder: Path, recipe: BaseModel, encoders: Sequence[StudentSpec], texts: Texts, validation: Texts | None
) -> None:
    """Record what the folder is made of: the recipe for readers, and all inputs for `check_folder` and `check_texts`."""
    record_made(folder / MADE_OF, _settings(recipe, encoders) | _texts(texts, validation))
    write_atomic(folder / MADE, dump(recipe))


def _settings(recipe: BaseModel, encoders: Sequence[StudentSpec]) -> dict[str, Any]:
    return effective(recipe) | {"encoders": [model_identity(e.model, e.revision) for e in encoders]}


def _texts(texts: Texts, validation: Texts | None) -> dict[str, Any]:
    return {"texts": texts.fingerprint(), "validation texts": None if validation is None else validation.fingerprint()}


def _check(folder: Path, made_of: dict[str, Any], complete: Complete | None = None) -> None:
    check_made(folder / MADE_OF, made_of, complete=complete, expected=f"the recipe that made {folder}")


def name_of(folder: Path) -> str:
    """A teacher's name in messages, also for the folder "."."""
    return folder.resolve().name or "teacher"


def install(model: Any, tokenizer: Any, folder: Path, max_length: int) -> None:
    """Move the saved files into the folder, config.json last: only with it the folder counts as a teacher. `folder` is locked."""
    ready = folder / ".ready"
    if ready.is_dir() and not ready.is_symlink():  # of a process that was killed while it moved the files
        shutil.rmtree(ready)
    save_classifier(model, tokenizer, ready, max_length)
    for file in sorted(ready.iterdir(), key=lambda path: path.name == "config.json"):
        os.replace(file, folder / file.name)
    sync(folder)
    ready.rmdir()
