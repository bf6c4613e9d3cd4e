"""While transformers loads a model it warns of nothing, shows no bar and asks no question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from alloykit.progress import silenced


def quiet_transformers() -> AbstractContextManager[None]:
    """Silence transformers' warnings about new heads and skipped weights: those that matter become errors of ours."""
    return silenced("transformers")


@contextmanager
def no_gguf_bar() -> Iterator[None]:
    """transformers shows no progress bar while it reads a GGUF file. This bar does not follow transformers' own switch."""
    from transformers import modeling_gguf_pytorch_utils as module

    shown = module.tqdm
    module.tqdm = partial(shown, disable=True)
    try:
        yield
    finally:
        module.tqdm = shown


@contextmanager
def no_questions() -> Iterator[None]:
    """transformers asks no question on standard input: with a time limit of 0 it fails at once."""
    from transformers import dynamic_module_utils

    timeout = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = timeout
