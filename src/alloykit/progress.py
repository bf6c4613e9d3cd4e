"""Progress bars and plain lines, on standard error, so that standard output stays data."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from alloykit.escape import visible
from alloykit.interrupts import heed
from alloykit.terminal import complain

_quiet = False


def console() -> Console:
    """Looked up at every use, because tests and notebooks replace sys.stderr."""
    return Console(file=sys.stderr, quiet=_quiet, highlight=False, soft_wrap=True)


def set_quiet(quiet: bool) -> None:
    global _quiet
    _quiet = quiet


def say(text: str) -> None:
    """One line. Text of others is in it, so control characters are written out."""
    if not _quiet:
        complain(visible(text))


@contextmanager
def bar(what: str, total: int, unit: str = "texts") -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on a terminal; elsewhere one line when it is done. Yields `advance(n)`."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} {unit}/s")

    out, start, done = console(), time.perf_counter(), 0
    left = TextColumn("left:")
    progress = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), Rate(), left,
        TimeRemainingColumn(), console=out, transient=True, disable=not out.is_terminal or _quiet,
    )  # fmt: skip
    with progress:
        task = progress.add_task(visible(what), total=total)

        def advance(n: int) -> None:
            nonlocal done
            done += n
            progress.advance(task, n)
            heed()

        yield advance
    seconds = time.perf_counter() - start
    if done:
        say(f"{what}: {done:,} {unit} in {seconds:.1f} s ({done / max(seconds, 1e-9):,.0f}/s)")


@contextmanager
def library_bars_off() -> Iterator[None]:
    """No bars of transformers' and datasets' own: loading and saving take a second, and the rest has bars of ours."""
    import datasets
    from transformers.utils import logging

    shown, of_datasets = logging.is_progress_bar_enabled(), datasets.are_progress_bars_disabled()
    logging.disable_progress_bar()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
        if not of_datasets:
            datasets.enable_progress_bars()
