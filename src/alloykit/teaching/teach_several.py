"""Co-finetune several encoders under one head, so that their states are aligned (MT-BERT §2.1)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from alloykit.data import Texts
from alloykit.json_files import write_json
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.models.device import pick_device
from alloykit.models.heads import PooledHead
from alloykit.models.long_texts import set_long_texts
from alloykit.models.tokens import usable_length
from alloykit.names import counted, quoted
from alloykit.outputs import LabelsOnly
from alloykit.progress import log_line
from alloykit.recipe.teacher_recipes import TogetherRecipe
from alloykit.run_folder.file_names import METRICS
from alloykit.serving.predictor import Predictor
from alloykit.stages.recipe_texts import label_positions
from alloykit.teaching.split_texts import split_texts
from alloykit.teaching.teaching_folder import install, record
from alloykit.teaching.teaching_inputs import checked_inputs, label_space
from alloykit.training.co_finetuning import CoFinetunedEncoders, CoFinetuning, CoFinetuningCollator
from alloykit.training.dataset import tokenize
from alloykit.training.student import build_student


def teach_several(recipe: TogetherRecipe, folder: Path) -> list[Path]:
    """Fine-tune encoders under one head. `folder` is locked. AlloyError."""
    from alloykit.training.tracker import tracking
    from alloykit.training.trainer import train

    folders = [folder / name for name in recipe.model_names]
    recipe, texts, validation = checked_inputs(recipe, recipe.models, folder, None)
    if all((f / METRICS).exists() for f in folders):
        log_line(f"{folder} is finished already")
        return folders
    options, space = recipe.training, label_space(recipe, folder, texts)
    built = [build_student(spec, space, options.seed) for spec in recipe.models]
    tokenizers = [tokenizer for _, tokenizer in built]
    lengths = [usable_length(model, tokenizer, options.max_length) for model, tokenizer in built]
    model = _under_one_head(recipe, [model.base_model for model, _ in built], space)

    def collator_of(table: Texts) -> CoFinetuningCollator:
        labels = LabelsOnly(label_positions(table, space))
        return CoFinetuningCollator(tokenizers, lengths, table, labels, options.long_texts)

    collator = collator_of(texts)
    check_collator = collator if validation is None else collator_of(validation)
    record(folder, recipe, recipe.models, texts, validation)
    split = split_texts(
        texts,
        validation,
        options,
        lambda part: tokenize(part, tokenizers[0], lengths[0], long_texts=options.long_texts),
    )
    log_line(
        f"teachers {quoted(recipe.model_names)}: {counted(len(split.examples), 'text')}, labels {quoted(space.names)}"
    )
    device = pick_device(recipe.device)
    with tracking(options.report_to, folder, device) as tracker:
        fitted = train(
            model, collator, CoFinetuning(CoFinetuning.Options()), Context(space), split.examples, split.checks, options,
            folder / "training", check_collator=check_collator, device=device, tracker=tracker,
        )  # fmt: skip
    for one, tokenizer, length, place in zip(model.split(), tokenizers, lengths, folders, strict=True):
        set_long_texts(one, options.long_texts)
        accuracy = split.accuracy(Predictor(one, tokenizer, options.max_length), space)
        install(one, tokenizer, place, length)
        about = {"held_out_accuracy": accuracy, "steps": fitted.steps, "selected_step": fitted.selected_step}
        write_json(place / METRICS, about | {"texts": len(split.examples)})
        log_line(split.finished_line(place.name, accuracy))
    shutil.rmtree(folder / "training", ignore_errors=True)
    return folders


def _under_one_head(recipe: TogetherRecipe, encoders: list[Any], space: LabelSpace) -> CoFinetunedEncoders:
    """The encoders under a new head, as wide as the recipe says or as the widest encoder."""
    width = recipe.width or max(encoder.config.hidden_size for encoder in encoders)
    return CoFinetunedEncoders(encoders, PooledHead(width, space.size))
