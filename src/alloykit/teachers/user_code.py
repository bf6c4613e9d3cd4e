"""Run Python code of the user's: a teacher's function, or the module it is in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from alloykit.errors import AlloyError
from alloykit.escape import visible

LONGEST = 1_000  # characters of a foreign error's message


@contextmanager
def user_code(expected: str, hint: str, got: str = "") -> Iterator[None]:
    """Whatever the block raises becomes one AlloyError; only Ctrl-C and an AlloyError pass. got: what comes before the error's message.

    The user's code may change settings of the whole process, on which the run relies. So the working directory, and torch's gradient mode,
    default number format and number of threads are put back afterwards.
    """
    before = _kept()
    try:
        yield
    except (AlloyError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit, which would end the command without a message
        reason = in_words(error)
        raise AlloyError(expected=expected, got=f"{got} ({reason})" if got else reason, hint=hint) from error
    finally:
        _put_back(before)


def in_words(error: BaseException) -> str:
    """An error of foreign code on one line: its type and its message, which may be long or may fail itself."""
    try:
        message = str(error)
    except Exception:
        message = "its message cannot be read"
    message = visible(" ".join(message[: 2 * LONGEST].split()))
    cut = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    return visible(type(error).__name__)[:200] + (f": {cut}" if cut else "")


def _kept() -> tuple[str | None, bool, torch.dtype, int]:
    folder = None
    with suppress(OSError):
        folder = os.getcwd()
    return folder, torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()


def _put_back(kept: tuple[str | None, bool, torch.dtype, int]) -> None:
    now = _kept()
    if kept[0] is not None and now[0] != kept[0]:
        os.chdir(kept[0])
    if now[1] != kept[1]:
        torch.set_grad_enabled(kept[1])
    if now[2] != kept[2]:
        torch.set_default_dtype(kept[2])
    if now[3] != kept[3]:
        torch.set_num_threads(kept[3])
