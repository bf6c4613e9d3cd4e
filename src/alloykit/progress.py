"""Progress bars and lines on standard error. Standard output is for data."""

from __future__ import annotations

import logging
import os
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

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # Windows has neither
LINE_SECONDS = 20.0  # between two lines about the same work; with slow batches at most 30 s pass between two lines

_quiet, _warns = False, True
_log: RunLog | None = None


class RunLog:
    """A log file: every line with its time. Lines stay in memory until the folder holds the file `marker`."""

    def __init__(self, path: Path, marker: str) -> None:
        self.path, self.marker = path, marker
        self.pending: list[str] = []
        self.begun = False

    def write(self, text: str) -> None:
        """Write a line. If the log cannot be written, the line is lost, and the work continues."""
        self.pending.append(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
        if (self.path.parent / self.marker).exists():
            with suppress(OSError), open(self.path, "a", encoding="utf-8", opener=_opened) as file:
                file.writelines(self.pending)
            self.pending, self.begun = [], True


def _opened(path: str, flags: int) -> int:
    """Open a log. OSError for a link, because the lines would go into a file of its choice, and for a pipe that nobody reads: the folder may be
    somebody else's."""
    return os.open(path, flags | NO_LINK, 0o666)


@contextmanager
def logged_to(path: Path, marker: str) -> Iterator[None]:
    """While the block runs, write the lines of `log_line` and `bar` to a log file as well, also with `set_quiet`.

    Nothing is written before the folder holds the file `marker`, so that a refused command leaves no file. If an error ends the block,
    it is the last line of the log. A block inside another block writes only to its own file.
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
    """A console on the current sys.stderr, which tests and notebooks may replace."""
    return Console(file=sys.stderr, quiet=_quiet, highlight=False, soft_wrap=True)


def set_quiet(quiet: bool, warnings: bool = True) -> None:
    """Set whether `log_line` and `bar` print nothing, and whether `warn_line` prints."""
    global _quiet, _warns
    _quiet, _warns = quiet, warnings


@contextmanager
def hushed() -> Iterator[None]:
    """`log_line`, `warn_line` and `bar` print and log nothing inside the block."""
    global _quiet, _warns, _log
    before, _quiet, _warns, _log = (_quiet, _warns, _log), True, False, None
    try:
        yield
    finally:
        _quiet, _warns, _log = before


@contextmanager
def silenced(*loggers: str) -> Iterator[None]:
    """These loggers of libraries say nothing inside the block."""
    found = [logging.getLogger(name) for name in loggers]
    levels = [logger.level for logger in found]
    for logger in found:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(found, levels, strict=True):
            logger.setLevel(level)


def log_line(text: str) -> None:
    """Print one line. It may hold foreign text, so control characters are written out."""
    if _log is not None:
        _log.write(visible(text))
    if not _quiet:
        echo_error(visible(text))


def warn_line(text: str) -> None:
    """Print a warning, also with `set_quiet`."""
    line = visible(f"warning: {text}")
    if _log is not None:
        _log.write(line)
    if _warns:
        echo_error(line)


@contextmanager
def bar(what: str, total: int | None, unit: str = "texts") -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; otherwise a line every LINE_SECONDS. Both show rate and time left. One line at the end.

    Yields `advance(n)`. total: None if it is not known; 0 for no bar and no lines.
    """
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{rate(task.speed or 0)} {unit}/s")

    out, start, done = console(), time.perf_counter(), 0
    line_at = start
    far = TextColumn("{task.percentage:>3.0f} %" if total is not None else f"{{task.completed:,}} {unit}")
    left = (TextColumn("left:"), TimeRemainingColumn()) if total is not None else ()
    progress = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), far, Rate(), *left,
        console=out, transient=True, disable=not out.is_terminal or _quiet,
    )  # fmt: skip
    with progress:
        task = progress.add_task(visible(what), total=total)

        def advance(n: int) -> None:
            nonlocal done, line_at
            done += n
            progress.advance(task, n)
            now = time.perf_counter()
            if now - line_at >= LINE_SECONDS and (total is None or done < total):
                line_at = now
                line = f"{what}: {_so_far(done, total, unit, now - start)}"
                _line(line, shown=progress.disable)
            raise_noted()

        yield advance
    seconds = time.perf_counter() - start
    if done:
        log_line(
            f"{what}: {done:,} {unit.removesuffix('s') if done == 1 else unit} in {seconds:.1f} s ({rate(done / max(seconds, 1e-9))}/s)"
        )


def _line(text: str, *, shown: bool) -> None:
    """`log_line`, but only to the log if a bar shows the same."""
    if shown:
        log_line(text)
    elif _log is not None:
        _log.write(visible(text))


def _so_far(done: int, total: int | None, unit: str, seconds: float) -> str:
    """For instance "1,200 of 4,000 reads (30 %), 60/s, about 47 s left"."""
    speed = done / max(seconds, 1e-9)
    if total is None:
        return f"{done:,} {unit}, {rate(speed)}/s"
    left = f", about {duration((total - done) / speed)} left" if done else ""
    return f"{done:,} of {total:,} {unit} ({100 * done / total:.0f} %), {rate(speed)}/s{left}"


def rate(per_second: float) -> str:
    """A number per second as text: a slow one is not shown as 0."""
    if per_second >= 10:
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 1 else f"{per_second:.2g}"


def duration(seconds: float) -> str:
    """A duration as text, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def library_bars_off() -> Iterator[None]:
    """Switch off the progress bars of transformers, and those of datasets if it is loaded. Longer work has our own bars."""
    from transformers.utils import logging

    datasets = sys.modules.get("datasets")  # it takes a second to import, and `serve` does not need it
    if datasets is not None and datasets.are_progress_bars_disabled():
        datasets = None
    transformers_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    if datasets is not None:
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        if transformers_bars:
            logging.enable_progress_bar()
        if datasets is not None:
            datasets.enable_progress_bars()
