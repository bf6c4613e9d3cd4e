"""Ctrl-C, also when it comes at a bad moment.

Python raises KeyboardInterrupt wherever it happens to be. Inside a finaliser or a callback of the garbage collector, which large
libraries have many of, it is printed as "ignored" and lost, and the run would go on. So it is noted too, and raised again at the next step
of whatever has a progress bar.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False


@contextmanager
def noted_interrupts() -> Iterator[None]:
    """Note interrupts while the block runs. Does nothing outside the main thread, where Python has no signals."""
    global _asked
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        global _asked
        _asked = True
        raise KeyboardInterrupt

    _asked, before = False, signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked = False


def raise_noted() -> None:
    """KeyboardInterrupt if one was noted and nothing has come of it."""
    if _asked:
        raise KeyboardInterrupt
