"""Progress bars and plain lines, on standard error, so that standard output stays data."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.interrupts import raise_noted
from alloykit.terminal import echo_error

LINE_SECONDS = (
    20.0  # between two lines about the same work; with batches of a few seconds, one comes at least every 30 s
)

_quiet = False
_log: RunLog | None = None


class RunLog:
    """A file that gets every line with its time. Lines wait in memory until its folder holds the file `marker`."""

    def __init__(self, path: Path, marker: str) -> None:
        self.path, self.marker = path, marker
        self.waiting: list[str] = []
        self.begun = False

    def write(self, text: str) -> None:
        """A log that cannot be written loses its lines: no work is stopped for it."""
        self.waiting.append(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
        if (self.path.parent / self.marker).exists():
            with suppress(OSError), self.path.open("a", encoding="utf-8") as file:
                file.writelines(self.waiting)
            self.waiting, self.begun = [], True


@contextmanager
def logged_to(path: Path, marker: str) -> Iterator[None]:
    """While the block runs, append what `say` and `bar` print to a file as well, also where nothing is printed (`set_quiet`).

    Nothing is written before the folder holds the file `marker`: a refused command leaves no file. An error that ends the block
    is the last line of a log that was begun. A block inside another one writes to its own file only.
    """
    global _log
    before, _log = _log, RunLog(path, marker)
    try:
        yield
    except BaseException as error:
        if _log.begun:
            _log.write(
                visible(
                    f"ended by {type(error).__name__}: {error}"
                    if isinstance(error, AlloyError)
                    else f"ended by {type(error).__name__}"
                )
            )
        raise
    finally:
        _log = before


def console() -> Console:
    """Looked up at every use, because tests and notebooks replace sys.stderr."""
    return Console(file=sys.stderr, quiet=_quiet, highlight=False, soft_wrap=True)


def set_quiet(quiet: bool) -> None:
    """Whether `say` and `bar` print nothing."""
    global _quiet
    _quiet = quiet


def say(text: str) -> None:
    """One line. Text of others is in it, so control characters are written out."""
    if _log is not None:
        _log.write(visible(text))
    if not _quiet:
        echo_error(visible(text))


@contextmanager
def bar(what: str, total: int, unit: str = "texts") -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on a terminal; elsewhere a line with both every LINE_SECONDS. One line when it is done.

    Yields `advance(n)`. total: 0 if there should be no bar and no lines.
    """
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} {unit}/s")

    out, start, done = console(), time.perf_counter(), 0
    line_at = start
    left = TextColumn("left:")
    progress = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), Rate(), left,
        TimeRemainingColumn(), console=out, transient=True, disable=not out.is_terminal or _quiet,
    )  # fmt: skip
    with progress:
        task = progress.add_task(visible(what), total=total)

        def advance(n: int) -> None:
            nonlocal done, line_at
            done += n
            progress.advance(task, n)
            now = time.perf_counter()
            if now - line_at >= LINE_SECONDS and done < total:
                line_at = now
                line = f"{what}: {_so_far(done, total, unit, now - start)}"
                _line(line, shown=progress.disable)
            raise_noted()

        yield advance
    seconds = time.perf_counter() - start
    if done:
        say(f"{what}: {done:,} {unit} in {seconds:.1f} s ({done / max(seconds, 1e-9):,.0f}/s)")


def _line(text: str, *, shown: bool) -> None:
    """`say`, for the log alone where a bar shows the same."""
    if shown:
        say(text)
    elif _log is not None:
        _log.write(visible(text))


def _so_far(done: int, total: int, unit: str, seconds: float) -> str:
    """For instance "1,200 of 4,000 reads (30 %), 60/s, about 47 s left"."""
    rate = done / max(seconds, 1e-9)
    return f"{done:,} of {total:,} {unit} ({100 * done / total:.0f} %), {rate:,.{0 if rate >= 10 else 1}f}/s, about {duration((total - done) / rate)} left"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


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
