"""Fine-tune a teacher: an encoder and labelled texts, restricted to some labels, in; a classifier folder out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from pydantic import BaseModel

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.files import write_atomic, write_json
from alloykit.knowledge.store.artifacts import check_made, record_made, recorded
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.models.location import identity
from alloykit.models.tokens import usable_length
from alloykit.outputs import LabelsOnly
from alloykit.progress import say
from alloykit.recipe.models import TeachRecipe, TogetherRecipe, dump
from alloykit.serving.predictor import Predictor
from alloykit.stages.lock import locked
from alloykit.stages.output_folder import refuse_others
from alloykit.stages.prepare import encoder_shape
from alloykit.stages.run_folder import undecided
from alloykit.stages.texts import label_positions, read
from alloykit.stages.train_student import save_classifier
from alloykit.training.dataset import Collator, Tokens, held_out_size, split_held_out, tokenize
from alloykit.training.schedule import decided, known
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

MADE, MADE_OF = "teach.yaml", "made_of.json"
Teaching = TypeVar("Teaching", TeachRecipe, TogetherRecipe)


def teach(recipe: TeachRecipe, *, data: Texts | None = None) -> Path:
    """Fine-tune and return the teacher's folder. A finished one with the same recipe is left as it is. AlloyError."""
    folder = Path(recipe.output)
    check_folder(folder, recipe, [recipe.model])
    with locked(folder):
        return _teach(recipe, folder, data)


def _teach(recipe: TeachRecipe, folder: Path, data: Texts | None) -> Path:
    check_folder(folder, recipe, [recipe.model])  # again: another process may have been here before
    from alloykit.training.trainer import train

    texts = restrict(data if data is not None else read(recipe.data, want_labels=True), recipe.labels)
    validation = None
    if recipe.validation is not None:
        validation = restrict(read(recipe.validation.data, want_labels=True), recipe.labels)
    check_texts(folder, texts, validation)
    recipe = with_training(recipe, texts, [recipe.model])
    check_folder(folder, recipe, [recipe.model])
    if (folder / "config.json").exists() and (folder / "metrics.json").exists():
        say(f"{folder} is finished already")
        return folder
    names = recipe.labels or sorted(set(texts.table["label"]))
    space = LabelSpace.union([names], teacher_names=[name_of(folder)])
    options = recipe.training
    model, tokenizer = build_student(recipe.model, space, options.seed)
    if validation is not None:
        label_positions(validation, space)
    record(folder, recipe, [recipe.model], texts, validation)
    length = usable_length(model, tokenizer, options.max_length)
    dataset = tokenize(texts, tokenizer, length)
    source = LabelsOnly(label_positions(texts, space))
    if validation is not None:
        checks, check_source = (
            tokenize(validation, tokenizer, length),
            LabelsOnly(label_positions(validation, space)),
        )
        positions = np.arange(len(dataset))
    else:
        positions, held_out = split_held_out(len(dataset), options.held_out, options.seed)
        checks, check_source = dataset.select(held_out), source
    say(f"teacher {name_of(folder)}: {len(positions):,} texts, labels {', '.join(space.names)}")
    fitted = train(
        model, Collator(tokenizer, source), create("supervised"), Context(space), dataset.select(positions), checks, options,
        folder / "training", check_collator=Collator(tokenizer, check_source), device=pick_device(recipe.device),
    )  # fmt: skip
    accuracy = (
        _accuracy(model, tokenizer, options.max_length, check_source, checks, texts, recipe) if len(checks) else None
    )
    install(model, tokenizer, folder, length)
    result = {"held_out_accuracy": accuracy, "held_out_texts": len(checks), "steps": fitted.steps}
    write_json(
        folder / "metrics.json",
        result | {"selected_step": fitted.selected_step, "texts": len(positions)},
    )
    shutil.rmtree(folder / "training", ignore_errors=True)
    say(
        f"teacher {name_of(folder)}: "
        + (f"{accuracy:.1%} right on {len(checks)} held-out texts" if accuracy else "saved")
    )
    return folder


def with_training(recipe: Teaching, texts: Texts, encoders: Sequence[StudentSpec]) -> Teaching:
    """The recipe with a learning rate and a number of epochs, by the rule where it has none: of several encoders the lowest rate."""
    options, labels = recipe.training, len(set(texts.table["label"]))
    n = len(texts) - (held_out_size(len(texts), options.held_out) if recipe.validation is None else 0)
    shapes = [encoder_shape(spec) for spec in encoders]
    each = [decided(options, n, labels, shape.layers, shape.hidden_size) for shape in shapes]
    return recipe.model_copy(update={"training": min(each, key=lambda o: known(o.learning_rate, "learning_rate"))})


def check_folder(folder: Path, recipe: BaseModel, encoders: Sequence[StudentSpec]) -> None:
    """AlloyError if the folder holds anything that another recipe or other encoders made, or other files."""
    refuse_others(folder, MADE_OF)
    settings = _settings(recipe, encoders)
    settings["training"] |= undecided(recorded(folder / MADE_OF), settings)
    _check(folder, settings)


def check_texts(folder: Path, texts: Texts, validation: Texts | None) -> None:
    """AlloyError if what lies in the folder was made of other texts."""
    _check(folder, _texts(texts, validation))


def record(
    folder: Path, recipe: BaseModel, encoders: Sequence[StudentSpec], texts: Texts, validation: Texts | None
) -> None:
    """Write down what the folder is made of: the recipe for readers, and all of it for `check_folder` and `check_texts`."""
    record_made(folder / MADE_OF, _settings(recipe, encoders) | _texts(texts, validation))
    write_atomic(folder / MADE, dump(recipe))


def _settings(recipe: BaseModel, encoders: Sequence[StudentSpec]) -> dict[str, Any]:
    return recipe.model_dump(mode="json") | {"encoders": [identity(e.model, e.revision) for e in encoders]}


def _texts(texts: Texts, validation: Texts | None) -> dict[str, Any]:
    return {"texts": texts.fingerprint(), "validation texts": None if validation is None else validation.fingerprint()}


def _check(folder: Path, made_of: dict[str, Any]) -> None:
    check_made(
        folder / MADE_OF,
        made_of,
        expected=f"the recipe that made {folder}",
        hint="Choose another output or remove the folder.",
    )


def name_of(folder: Path) -> str:
    """What a teacher is called in messages, also one in "."."""
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
    return Texts(texts.table.select(keep), texts.dropped, texts.duplicates, texts.total)


def _accuracy(
    model: Any, tokenizer: Any, max_length: int, source: LabelsOnly, checks: Tokens, texts: Texts, recipe: TeachRecipe
) -> float:
    held = (
        texts if recipe.validation is None else restrict(read(recipe.validation.data, want_labels=True), recipe.labels)
    )
    shown = held.table.take(checks.positions)
    predicted = Predictor(model, tokenizer, max_length).probabilities(shown["text"], shown.get("text_pair"), "check")
    return float((predicted.argmax(-1) == source.labels[torch.from_numpy(checks.positions).long()]).double().mean())


def install(model: Any, tokenizer: Any, folder: Path, max_length: int) -> None:
    """Move the saved files into place, config.json last: with it the folder is a teacher."""
    ready = folder / ".ready"
    save_classifier(model, tokenizer, ready, max_length)
    for file in sorted(ready.iterdir(), key=lambda path: path.name == "config.json"):
        os.replace(file, folder / file.name)
    ready.rmdir()
