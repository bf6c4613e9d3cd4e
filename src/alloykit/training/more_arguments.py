"""Arguments of transformers' Trainer that the recipe passes on."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.names import nearest_name, shown
from alloykit.out_of_memory import is_out_of_memory
from alloykit.processes import is_lost_connection

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

ELSEWHERE = frozenset(
    [
        "hub_always_push",
        "hub_model_id",
        "hub_private_repo",
        "hub_revision",
        "hub_strategy",
        "hub_token",
        "logging_dir",
        "project",
        "push_to_hub",
        "push_to_hub_model_id",
        "push_to_hub_organization",
        "push_to_hub_token",
        "resume_from_checkpoint",
        "run_name",
        "trackio_bucket_id",
        "trackio_space_id",
        "trackio_static_space_id",
    ]
)
"""Arguments that upload the student, or read and write outside the run folder: a recipe, which may be somebody else's, cannot give them."""


def more_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's `training: {arguments: …}`. AlloyError for a name that transformers does not know, and for one that alloykit sets."""
    if not given:
        return {}  # without the slow import below
    from transformers import TrainingArguments

    known = {field.name for field in fields(TrainingArguments) if field.init}
    for name in given:
        if name in OURS:
            raise AlloyError(
                expected="arguments of the Trainer that alloykit does not set itself",
                got=f"`training: {{arguments: {{{name}: …}}}}`",
                hint="Use the keys of `training:`; the reference lists them.",
            )
        if name in ELSEWHERE:
            raise AlloyError(
                expected="arguments of the Trainer that concern the training alone",
                got=f"`training: {{arguments: {{{name}: …}}}}`",
                hint="Upload a student with `alloykit push`; `report_to` sends figures to trackers.",
            )
        if name not in known:
            near = nearest_name(name, sorted(known - OURS))
            raise AlloyError(
                expected="arguments of transformers' `TrainingArguments`",
                got=f"`training: {{arguments: {{{name}: …}}}}`",
                hint=f"Did you mean '{near}'?" if near else "",
            )
    return dict(given)


@contextmanager
def arguments_named(given: Mapping[str, Any]) -> Iterator[None]:
    """Errors of the Trainer in this block name the recipe's arguments, of which the Trainer checks few values itself. AlloyError.

    Errors that have other reasons pass: a lack of memory or of room, and lost processes."""
    try:
        yield
    except (AlloyError, MemoryError):
        raise
    except Exception as error:
        of_disk = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if (
            not given
            or of_disk
            or is_lost_connection(error)
            or (isinstance(error, RuntimeError) and is_out_of_memory(error))
        ):
            raise
        raise AlloyError(
            expected="a training that the Trainer can do with `training: {arguments: …}`",
            got=f"{type(error).__name__}: {visible(' '.join(str(error).split())[:500])}, with {shown(dict(given))}",
            hint="Check the names and values in the documentation of transformers' TrainingArguments, or leave them out.",
        ) from error
