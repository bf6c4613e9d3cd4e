"""Fine-tune one encoder into a teacher."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from alloykit.data import Texts
from alloykit.files import write_json
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.models.long_texts import set_long_texts
from alloykit.models.tokens import usable_length
from alloykit.outputs import LabelsOnly
from alloykit.progress import log_line
from alloykit.recipe.models import TeachRecipe
from alloykit.serving.predictor import Predictor
from alloykit.stages.recipe_texts import label_positions
from alloykit.teaching.teaching_folder import (
    check_folder,
    check_texts,
    install,
    labelled_texts,
    name_of,
    record,
    with_training,
)
from alloykit.training.all_but import AllBut
from alloykit.training.dataset import Collator, Tokens, split_held_out, tokenize
from alloykit.training.student import build_student


def teach_one(recipe: TeachRecipe, folder: Path, data: Texts | None) -> Path:
    """Fine-tune one encoder. `folder` is locked. `data`: the training texts, if they are in memory. AlloyError."""
    check_folder(folder, recipe, [recipe.model])  # checked again: another process may have finished before
    from alloykit.training.tracker import tracking
    from alloykit.training.trainer import train

    texts, validation = labelled_texts(recipe, data)
    check_texts(folder, texts, validation)
    recipe = with_training(recipe, texts, [recipe.model])
    check_folder(folder, recipe, [recipe.model])
    if (folder / "config.json").exists() and (folder / "metrics.json").exists():
        log_line(f"{folder} is finished already")
        return folder
    names = recipe.labels or sorted(set(texts.table["label"]))
    space = LabelSpace.union([names], teacher_names=[name_of(folder)])
    options = recipe.training
    model, tokenizer = build_student(recipe.model, space, options.seed)
    if validation is not None:
        label_positions(validation, space)
    record(folder, recipe, [recipe.model], texts, validation)
    length = usable_length(model, tokenizer, options.max_length)
    set_long_texts(model, options.long_texts)
    dataset = tokenize(texts, tokenizer, length, long_texts=options.long_texts)
    source = LabelsOnly(label_positions(texts, space))
    if validation is not None:
        checks, check_source = (
            tokenize(validation, tokenizer, length, long_texts=options.long_texts),
            LabelsOnly(label_positions(validation, space)),
        )
        positions = AllBut(len(dataset))
    else:
        positions, held_out = split_held_out(len(dataset), options.held_out, options.seed)
        checks, check_source = dataset.select(held_out), source
    log_line(f"teacher {name_of(folder)}: {len(positions):,} texts, labels {', '.join(space.names)}")
    device = pick_device(recipe.device)
    with tracking(options.report_to, folder, device) as tracker:
        fitted = train(
            model, Collator(tokenizer, source), create("supervised"), Context(space), dataset.select(positions), checks, options,
            folder / "training", check_collator=Collator(tokenizer, check_source), device=device, tracker=tracker,
        )  # fmt: skip
    accuracy = (
        _accuracy(
            model, tokenizer, options.max_length, check_source, checks, texts if validation is None else validation
        )
        if len(checks)
        else None
    )
    install(model, tokenizer, folder, length)
    result = {"held_out_accuracy": accuracy, "held_out_texts": len(checks), "steps": fitted.steps}
    write_json(
        folder / "metrics.json",
        result | {"selected_step": fitted.selected_step, "texts": len(positions)},
    )
    shutil.rmtree(folder / "training", ignore_errors=True)
    log_line(
        f"teacher {name_of(folder)}: "
        + (f"accuracy {100 * accuracy:.1f} % on {len(checks)} held-out texts" if accuracy else "saved")
    )
    return folder


def _accuracy(model: Any, tokenizer: Any, max_length: int, source: LabelsOnly, checks: Tokens, texts: Texts) -> float:
    shown = texts.table.take(checks.rows)
    predicted = Predictor(model, tokenizer, max_length).probabilities(shown["text"], shown.get("text_pair"), "check")
    return float((predicted.argmax(-1) == source.labels[torch.from_numpy(checks.rows)]).double().mean())
