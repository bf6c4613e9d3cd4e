"""Print: data and results on standard output, messages on standard error. All output is safe for a terminal."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

from alloykit.errors import AlloyError
from alloykit.escape import to_json, visible

if TYPE_CHECKING:
    from rich.text import Text


class Guarded:
    """Standard output whose errors are AlloyErrors, also for output of typer and other libraries. A closed pipe stays a BrokenPipeError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        written: int = self._guarded(self._stream.write, text)
        return written

    def flush(self) -> None:
        self._guarded(self._stream.flush)

    def _guarded(self, function: Callable[..., Any], *arguments: str) -> Any:
        try:
            return function(*arguments)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise AlloyError(
                expected="a standard output that can be written to",
                got=f"'{error.strerror or error}'",
                hint="Free some space there, or send the output elsewhere, and run the same command again.",
            ) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Iterator[None]:
    """While the block runs, standard output is `Guarded`. At its end all output is flushed; AlloyError if that fails."""
    before = sys.stdout
    if before is None:  # the caller of the command closed it
        yield
        return
    sys.stdout = Guarded(before)  # type: ignore[assignment]
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = before


def write(text: str) -> None:
    """Write text that is already safe to standard output."""
    if sys.stdout is None:
        raise AlloyError(
            expected="an open standard output", got="a closed one", hint="Send it to a file, or to /dev/null."
        )
    sys.stdout.write(text)


def echo(text: object, *, now: bool = False) -> None:
    """Print one line. now: also to a pipe or file, before more is printed."""
    write(f"{visible(text)}\n")
    if now and sys.stdout is not None:
        sys.stdout.flush()


def echo_lines(lines: list[str]) -> None:
    """Print some lines."""
    write("".join(f"{visible(line)}\n" for line in lines))


def echo_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON that is UTF-8, also where standard output has another encoding: then in ASCII, with escapes."""
    write(f"{to_json(value, indent, ascii_only=not _is_utf8())}\n")


def _is_utf8() -> bool:
    return codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name == "utf-8"


class _Ascii(StringIO):
    encoding = "ascii"  # type: ignore[assignment]  # rich chooses its lines by it


def echo_rich(renderable: Any, *, soft_wrap: bool = False) -> None:
    """Print an object of rich. Foreign text in it must be `plain`, because rich reads [tags] in strings. Where standard output is not UTF-8, lines
    of tables are drawn in ASCII."""
    from rich.console import Console

    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    text = StringIO() if _is_utf8() else _Ascii()
    console = Console(file=text, force_terminal=on_terminal, width=None if on_terminal else 140, highlight=False)
    console.print(renderable, soft_wrap=soft_wrap)
    write(text.getvalue())


def plain(text: object) -> Text:
    """Foreign text as an object of rich, which would read [tags] in a string."""
    from rich.text import Text

    return Text(visible(text))


def echo_error(message: object) -> None:
    """Print a message on standard error. A message that cannot be written is lost, and the work continues."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{visible(message, lines=True)}\n")
            sys.stderr.flush()


def open_streams() -> None:
    """Prepare the standard streams. Texts on standard input are UTF-8, as in files. A character that standard output cannot encode is printed as "?".

    /dev/null is opened for closed streams, so that no file gets their number and the output of libraries."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def drop_unwritten() -> None:
    """Discard output that could not be written, so that Python does not try again and print an error when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
