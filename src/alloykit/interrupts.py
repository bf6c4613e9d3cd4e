"""Ctrl-C that cannot get lost, and signals that end a command in the same way.

Python raises KeyboardInterrupt at any place. Inside a finaliser or a callback of the garbage collector, Python prints it as "ignored" and
drops it, and the run would continue. So each interrupt is also noted, and raised again at the next step of a progress bar. Python's message is
left out: it looks like an error of the program.

SIGTERM and SIGHUP raise KeyboardInterrupt too, so that temporary files are removed and the user is told what to do. Python by itself would end
at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP)
_interrupted = False
_last: int = signal.SIGINT  # the signal that was noted last
_noted: list[int] = []  # those of ENDING that raise KeyboardInterrupt


def _forked() -> None:
    """A library that has forked a process ends it by SIGTERM. It is not the command."""
    for number in _noted:
        signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_forked)


@contextmanager
def noted_interrupts(*, processes: int = 1) -> Iterator[None]:
    """Note interrupts while the block runs. Does nothing outside the main thread, because only the main thread gets signals. processes: of this
    command. If there are several, SIGTERM is the launcher's (processes.py)."""
    global _interrupted, _last
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        global _interrupted, _last
        _interrupted, _last = True, number
        raise KeyboardInterrupt

    def report(problem: Any) -> None:
        if not issubclass(problem.exc_type, KeyboardInterrupt):
            usual(problem)

    # Another handler stays: with `nohup`, SIGHUP is ignored.
    ending = [] if processes > 1 else [n for n in ENDING if signal.getsignal(n) is signal.SIG_DFL]
    _interrupted, _last = False, signal.SIGINT
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, *ending)}
    _noted.extend(ending)
    usual, sys.unraisablehook = sys.unraisablehook, report
    try:
        yield
    except Exception as error:
        if _interrupted:  # a library, interrupted in an import, says that a package is missing
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = usual
        for number, handler in before.items():
            signal.signal(number, handler)
        _noted.clear()
        _interrupted = False


def raise_noted() -> None:
    """KeyboardInterrupt if one was noted and has not ended the block."""
    if _interrupted:
        raise KeyboardInterrupt


def exit_code() -> int:
    """The exit code of a command that was interrupted, as a shell gives it: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _last


def ignore_interrupts_at_exit() -> None:
    """Ignore interrupts while Python ends, because the clean-up of a library would print one as an error. Call it when the work is done: what is
    registered last runs first."""
    atexit.unregister(_ignore)
    atexit.register(_ignore)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
