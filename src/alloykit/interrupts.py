"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt at any place. Inside a finaliser or a callback of the garbage collector, Python prints it as "ignored" and
drops it, and the run would continue. So each interrupt is also noted, and raised again at the next step of a progress bar. Python's message is
left out: it looks like an error of the program.
"""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_interrupted = False


@contextmanager
def noted_interrupts() -> Iterator[None]:
    """Note interrupts while the block runs. Does nothing outside the main thread, because only the main thread gets signals."""
    global _interrupted
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        global _interrupted
        _interrupted = True
        raise KeyboardInterrupt

    def report(problem: Any) -> None:
        if not issubclass(problem.exc_type, KeyboardInterrupt):
            usual(problem)

    _interrupted, before = False, signal.signal(signal.SIGINT, note)
    usual, sys.unraisablehook = sys.unraisablehook, report
    try:
        yield
    finally:
        sys.unraisablehook = usual
        signal.signal(signal.SIGINT, before)
        _interrupted = False


def raise_noted() -> None:
    """KeyboardInterrupt if one was noted and has not ended the block."""
    if _interrupted:
        raise KeyboardInterrupt


def ignore_interrupts_at_exit() -> None:
    """Ignore interrupts while Python ends, because the clean-up of a library would print one as an error. Call it when the work is done: what is
    registered last runs first."""
    atexit.unregister(_ignore)
    atexit.register(_ignore)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
