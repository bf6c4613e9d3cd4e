"""Co-finetune several encoders under one head, so that their states are aligned (MT-BERT §2.1)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from alloykit.data import Texts
from alloykit.files import write_json
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.models.device import pick_device
from alloykit.models.heads import PooledHead
from alloykit.models.long_texts import set_long_texts
from alloykit.models.tokens import usable_length
from alloykit.outputs import LabelsOnly
from alloykit.progress import log_line
from alloykit.recipe.models import TogetherRecipe
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
from alloykit.training.co_finetuning import CoFinetunedEncoders, CoFinetuning, CoFinetuningCollator
from alloykit.training.dataset import split_held_out, tokenize
from alloykit.training.student import build_student


def teach_several(recipe: TogetherRecipe, folder: Path, data: Texts | None) -> list[Path]:
    """Fine-tune encoders under one head. `folder` is locked. `data`: the training texts, if they are in memory. AlloyError."""
    check_folder(folder, recipe, recipe.models)  # checked again: another process may have finished before
    from alloykit.training.tracker import tracking
    from alloykit.training.trainer import train

    folders = [folder / name for name in recipe.model_names]
    texts, validation = labelled_texts(recipe, data)
    check_texts(folder, texts, validation)
    recipe = with_training(recipe, texts, recipe.models)
    check_folder(folder, recipe, recipe.models)
    if all((f / "metrics.json").exists() for f in folders):
        log_line(f"{folder} is finished already")
        return folders
    options = recipe.training
    space = LabelSpace.union([recipe.labels or sorted(set(texts.table["label"]))], teacher_names=[name_of(folder)])
    built = [build_student(spec, space, options.seed) for spec in recipe.models]
    tokenizers = [tokenizer for _, tokenizer in built]
    lengths = [usable_length(model, tokenizer, options.max_length) for model, tokenizer in built]
    encoders = [model.base_model for model, _ in built]
    width = recipe.width or max(e.config.hidden_size for e in encoders)
    model = CoFinetunedEncoders(encoders, PooledHead(width, space.size))
    record(folder, recipe, recipe.models, texts, validation)
    dataset = tokenize(texts, tokenizers[0], lengths[0], long_texts=options.long_texts)
    source = LabelsOnly(label_positions(texts, space))
    collator: Any = CoFinetuningCollator(tokenizers, lengths, texts, source, options.long_texts)
    check_collator, checks, shown = collator, None, texts
    positions = AllBut(len(dataset))
    if validation is not None:
        shown = validation
        checks = tokenize(shown, tokenizers[0], lengths[0], long_texts=options.long_texts)
        labels = LabelsOnly(label_positions(shown, space))
        check_collator = CoFinetuningCollator(tokenizers, lengths, shown, labels, options.long_texts)
    elif options.held_out:
        positions, held_out = split_held_out(len(dataset), options.held_out, options.seed)
        checks = dataset.select(held_out)
    log_line(f"teachers {', '.join(recipe.model_names)}: {len(positions):,} texts, labels {', '.join(space.names)}")
    device = pick_device(recipe.device)
    with tracking(options.report_to, folder, device) as tracker:
        fitted = train(
            model, collator, CoFinetuning(CoFinetuning.Options()), Context(space), dataset.select(positions), checks, options,
            folder / "training", check_collator=check_collator, device=device, tracker=tracker,
        )  # fmt: skip
    for one, tokenizer, length, place in zip(model.split(), tokenizers, lengths, folders, strict=True):
        set_long_texts(one, options.long_texts)
        accuracy = None
        if checks is not None and len(checks):
            rows = shown.table.take(checks.rows)
            outputs = Predictor(one, tokenizer, options.max_length).probabilities(
                rows["text"], rows.get("text_pair"), "check"
            )
            right = [space.names[int(i)] == y for i, y in zip(outputs.argmax(-1), rows["label"], strict=True)]
            accuracy = sum(right) / len(right)
        install(one, tokenizer, place, length)
        about = {"held_out_accuracy": accuracy, "steps": fitted.steps, "selected_step": fitted.selected_step}
        write_json(place / "metrics.json", about | {"texts": len(positions)})
        log_line(
            f"teacher {place.name}: " + (f"accuracy {100 * accuracy:.1f} % on held-out texts" if accuracy else "saved")
        )
    shutil.rmtree(folder / "training", ignore_errors=True)
    return folders
