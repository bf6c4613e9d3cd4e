"""Fine-tune one encoder into a teacher."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from alloykit.data import Texts
from alloykit.json_files import write_json
from alloykit.labels import LabelSpace
from alloykit.methods.defaults import TEACHING
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.models.long_texts import set_long_texts
from alloykit.models.tokens import usable_length
from alloykit.names import counted, quoted
from alloykit.outputs import LabelsOnly
from alloykit.progress import log_line
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.run_folder.file_names import METRICS
from alloykit.serving.predictor import Predictor
from alloykit.stages.recipe_texts import label_positions
from alloykit.teaching.split_texts import split_texts
from alloykit.teaching.teaching_folder import install, name_of, record
from alloykit.teaching.teaching_inputs import checked_inputs, label_space
from alloykit.training.dataset import Collator, tokenize
from alloykit.training.student import build_student


def teach_one(recipe: TeachRecipe, folder: Path, data: Texts | None) -> Path:
    """Fine-tune one encoder. `folder` is locked. `data`: the training texts, if they are in memory. AlloyError."""
    from alloykit.training.tracker import tracking
    from alloykit.training.trainer import train

    recipe, texts, validation = checked_inputs(recipe, [recipe.model], folder, data)
    if (folder / "config.json").exists() and (folder / METRICS).exists():
        log_line(f"{folder} is finished already")
        return folder
    options, space = recipe.training, label_space(recipe, folder, texts)
    model, tokenizer = build_student(recipe.model, space, options.seed)
    collator = _collator(tokenizer, texts, space)
    check_collator = collator if validation is None else _collator(tokenizer, validation, space)
    record(folder, recipe, [recipe.model], texts, validation)
    length = usable_length(model, tokenizer, options.max_length)
    set_long_texts(model, options.long_texts)
    split = split_texts(
        texts, validation, options, lambda part: tokenize(part, tokenizer, length, long_texts=options.long_texts)
    )
    log_line(f"teacher {name_of(folder)}: {counted(len(split.examples), 'text')}, labels {quoted(space.names)}")
    device = pick_device(recipe.device)
    with tracking(options.report_to, folder, device) as tracker:
        fitted = train(
            model, collator, create(TEACHING), Context(space), split.examples, split.checks, options,
            folder / "training", check_collator=check_collator, device=device, tracker=tracker,
        )  # fmt: skip
    accuracy = split.accuracy(Predictor(model, tokenizer, options.max_length), space)
    install(model, tokenizer, folder, length)
    result = {"held_out_accuracy": accuracy, "held_out_texts": len(split.checks), "steps": fitted.steps}
    write_json(folder / METRICS, result | {"selected_step": fitted.selected_step, "texts": len(split.examples)})
    shutil.rmtree(folder / "training", ignore_errors=True)
    log_line(split.finished_line(name_of(folder), accuracy))
    return folder


def _collator(tokenizer: Any, texts: Texts, space: LabelSpace) -> Collator:
    return Collator(tokenizer, LabelsOnly(label_positions(texts, space)))
