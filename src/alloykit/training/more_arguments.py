"""Arguments of transformers' Trainer that the recipe passes on."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.names import nearest_name, shown
from alloykit.out_of_memory import is_out_of_memory
from alloykit.processes import is_lost_connection

ALLOWED = (
    "optim",
    "optim_args",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "lr_scheduler_kwargs",
    "tf32",
    "torch_compile_backend",
    "torch_compile_mode",
    "torch_empty_cache_steps",
    "full_determinism",
    "fsdp",
    "fsdp_config",
    "ddp_find_unused_parameters",
    "ddp_bucket_cap_mb",
    "ddp_backend",
    "ddp_timeout",
)
"""With these a run that was stopped goes on as if it had not been, the checks and the choice of the checkpoint are as the recipe says, and nothing
leaves the run folder. Others would break one of these promises (`save_only_model`, `eval_delay`, `push_to_hub`), or would have no effect here."""


def more_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's `training: {arguments: …}`. AlloyError for a name that is not in `ALLOWED`."""
    for name in given:
        if name not in ALLOWED:
            near = nearest_name(name, ALLOWED)
            raise AlloyError(
                expected=f"arguments of the Trainer among {', '.join(ALLOWED)}",
                got=f"`training: {{arguments: {{{visible(name)[:100]}: …}}}}`",
                hint=f"Did you mean '{near}'?"
                if near
                else "`training:` has keys of its own for other settings; `alloykit push` uploads a student.",
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
        if not given or of_disk or is_lost_connection(error) or is_out_of_memory(error):
            raise
        raise AlloyError(
            expected="a training that the Trainer can do with `training: {arguments: …}`",
            got=f"{type(error).__name__}: {visible(' '.join(str(error).split())[:500])}, with {shown(dict(given))}",
            hint="Check the names and values in the documentation of transformers' TrainingArguments, or leave them out.",
        ) from error
