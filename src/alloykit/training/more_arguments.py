"""Arguments of transformers' Trainer that the recipe passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from transformers import TrainingArguments

from alloykit.errors import AlloyError
from alloykit.names import nearest_name

OURS = frozenset(
    [
        "output_dir",
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "gradient_accumulation_steps",
        "max_steps",
        "num_train_epochs",
        "learning_rate",
        "warmup_steps",
        "warmup_ratio",
        "weight_decay",
        "max_grad_norm",
        "lr_scheduler_type",
        "seed",
        "data_seed",
        "bf16",
        "fp16",
        "torch_compile",
        "use_cpu",
        "eval_strategy",
        "eval_steps",
        "save_strategy",
        "save_steps",
        "save_total_limit",
        "logging_steps",
        "report_to",
        "remove_unused_columns",
        "disable_tqdm",
        "dataloader_pin_memory",
        "label_names",
        "dataloader_num_workers",
        "auto_find_batch_size",
        "load_best_model_at_end",
        "ignore_data_skip",
    ]
)
"""Arguments that alloykit sets itself: from the recipe, or because a run must be resumable."""


def more_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's `training: {arguments: …}`. AlloyError for a name that transformers does not know, and for one that alloykit sets."""
    known = {field.name for field in fields(TrainingArguments) if field.init}
    for name in given:
        if name in OURS:
            raise AlloyError(
                expected="arguments of the Trainer that alloykit does not set itself",
                got=f"`training: {{arguments: {{{name}: …}}}}`",
                hint="Use the keys of `training:`; the reference lists them.",
            )
        if name not in known:
            near = nearest_name(name, sorted(known - OURS))
            raise AlloyError(
                expected="arguments of transformers' `TrainingArguments`",
                got=f"`training: {{arguments: {{{name}: …}}}}`",
                hint=f"Did you mean '{near}'?" if near else "",
            )
    return dict(given)
