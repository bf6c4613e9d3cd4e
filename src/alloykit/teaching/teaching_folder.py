"""What `teach` for one encoder and for several have in common: texts, folder, and the record of what the folder was made of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.files import write_atomic
from alloykit.knowledge.store.artifacts import Complete, check_made, record_made, recorded, with_defaults_of
from alloykit.models.location import model_identity
from alloykit.recipe.models import TeachRecipe, TogetherRecipe, dump
from alloykit.run_folder.output_folder import refuse_others
from alloykit.run_folder.run_folder import unresolved_settings
from alloykit.stages.prepare import encoder_shape
from alloykit.stages.recipe_texts import read
from alloykit.stages.train_student import save_classifier
from alloykit.training.dataset import held_out_size
from alloykit.training.schedule import required, with_defaults
from alloykit.training.training_options import StudentSpec

MADE, MADE_OF = "teach.yaml", "made_of.json"  # the recipe, for readers; all inputs, for checks
Teaching = TypeVar("Teaching", TeachRecipe, TogetherRecipe)


def labelled_texts(recipe: Teaching, data: Texts | None) -> tuple[Texts, Texts | None]:
    """The training texts and the validation texts, if there are any, with the recipe's labels only. data: the training texts, if they are
    in memory. AlloyError."""
    texts = restrict(data if data is not None else read(recipe.data, want_labels=True), recipe.labels)
    if recipe.validation is None:
        return texts, None
    return texts, restrict(read(recipe.validation.data, want_labels=True), recipe.labels)


def with_training(recipe: Teaching, texts: Texts, encoders: Sequence[StudentSpec]) -> Teaching:
    """The recipe with the default learning rate and number of epochs where it sets none. For several encoders the lowest rate is used."""
    options, labels = recipe.training, len(set(texts.table["label"]))
    n = len(texts) - (held_out_size(len(texts), options.held_out) if recipe.validation is None else 0)
    shapes = [encoder_shape(spec) for spec in encoders]
    each = [with_defaults(options, n, labels, shape.layers, shape.hidden_size) for shape in shapes]
    return recipe.model_copy(update={"training": min(each, key=lambda o: required(o.learning_rate, "learning_rate"))})


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
    return recipe.model_dump(mode="json") | {"encoders": [model_identity(e.model, e.revision) for e in encoders]}


def _texts(texts: Texts, validation: Texts | None) -> dict[str, Any]:
    return {"texts": texts.fingerprint(), "validation texts": None if validation is None else validation.fingerprint()}


def _check(folder: Path, made_of: dict[str, Any], complete: Complete | None = None) -> None:
    check_made(
        folder / MADE_OF,
        made_of,
        complete=complete,
        expected=f"the recipe that made {folder}",
        hint="Choose another output or remove the folder.",
    )


def name_of(folder: Path) -> str:
    """A teacher's name in messages, also for the folder "."."""
    return folder.resolve().name or "teacher"


def restrict(texts: Texts, labels: list[str] | None) -> Texts:
    """Only the texts of these labels. AlloyError for a label that no text has."""
    if labels is None:
        return texts
    found = list(texts.table["label"])
    if missing := [label for label in labels if label not in set(found)]:
        raise AlloyError(
            expected=f"texts of the labels {', '.join(labels)}",
            got=f"none with {', '.join(missing)}",
            hint=f"The data has {', '.join(sorted(set(found)))}.",
        )
    keep = [i for i, label in enumerate(found) if label in labels]
    return Texts(texts.table.select(keep), texts.dropped, texts.total)


def install(model: Any, tokenizer: Any, folder: Path, max_length: int) -> None:
    """Move the saved files into the folder, config.json last: only with it the folder counts as a teacher."""
    ready = folder / ".ready"
    save_classifier(model, tokenizer, ready, max_length)
    for file in sorted(ready.iterdir(), key=lambda path: path.name == "config.json"):
        os.replace(file, folder / file.name)
    ready.rmdir()
