"""What commands print: data and answers on standard output, messages on standard error. All of it is safe for a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

from alloykit.errors import AlloyError
from alloykit.escape import to_json, visible

if TYPE_CHECKING:
    from rich.text import Text


class Guarded:
    """Standard output, whose failures are AlloyErrors: whoever prints, typer's help and libraries too. A closed pipe stays BrokenPipeError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        written: int = self._guarded(self._stream.write, text)
        return written

    def flush(self) -> None:
        self._guarded(self._stream.flush)

    def _guarded(self, act: Callable[..., Any], *arguments: str) -> Any:
        try:
            return act(*arguments)
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
    """While the block runs, standard output is `Guarded`; at its end everything that was printed is out, or an error says that it is not."""
    before = sys.stdout
    if before is None:  # closed by whoever started the command
        yield
        return
    sys.stdout = Guarded(before)  # type: ignore[assignment]
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = before


def write(text: str) -> None:
    """Text that is safe already, to standard output."""
    if sys.stdout is None:
        raise AlloyError(
            expected="an open standard output", got="a closed one", hint="Send it to a file, or to /dev/null."
        )
    sys.stdout.write(text)


def echo(text: object) -> None:
    """One line."""
    write(f"{visible(text)}\n")


def echo_lines(lines: list[str]) -> None:
    write("".join(f"{visible(line)}\n" for line in lines))


def echo_json(value: Any, indent: int | None = 2) -> None:
    write(f"{to_json(value, indent)}\n")


def show(renderable: Any, *, soft_wrap: bool = False) -> None:
    """Something of rich's. Its foreign parts must be `plain`: rich reads [tags] in strings."""
    from rich.console import Console

    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    console = Console(file=StringIO(), force_terminal=on_terminal, width=None if on_terminal else 140, highlight=False)
    console.print(renderable, soft_wrap=soft_wrap)
    write(console.file.getvalue())  # type: ignore[attr-defined]


def plain(text: object) -> Text:
    """Foreign text for rich, which would take [tags] in a string as its own."""
    from rich.text import Text

    return Text(visible(text))


def echo_error(message: object) -> None:
    """A message on standard error. One that cannot be written is lost: no work is stopped for it."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{visible(message, lines=True)}\n")
            sys.stderr.flush()


def open_streams() -> None:
    """Give closed standard streams a place, so that no file of ours gets their number and what libraries print."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def drop_unwritten() -> None:
    """Forget what could not be written, so that Python does not try again, and complain, when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
