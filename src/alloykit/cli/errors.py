"""Map exceptions to messages and exit codes."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from alloykit.errors import AlloyError, AlloyWarning
from alloykit.file_errors import os_error
from alloykit.interrupts import exit_code
from alloykit.processes import OtherProcessEnded, launched, let_first_speak, reports_loss, speaks
from alloykit.terminal import drop_unwritten, echo_error, guarded

# typer brings its own click and exports only this leaf of its errors: [2] is ClickException.
ClickException: Any = typer.BadParameter.__mro__[2]
CLOSED_PIPE = 141  # the exit code of a program that SIGPIPE ended: `alloykit predict … | head -1`
INVALID_INPUT = 2
INTERRUPTED = 130  # what typer turns a KeyboardInterrupt into

_verbose = False


def be_verbose() -> None:
    """Show the warnings of libraries and the traceback of errors, until `exit_codes` ends."""
    global _verbose
    _verbose = True
    warnings.simplefilter("default")


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn invalid input into one message and exit code 2, an interrupt into 130 (143 after SIGTERM, 129 after SIGHUP), and a closed pipe into 141 without a message.

    Standard output is flushed at the end, to detect a full disk.
    """
    global _verbose
    _verbose = False
    with _warnings_shown():
        try:
            with guarded():
                yield
        except SystemExit as ended:  # typer and rich turn a closed pipe into exit code 1
            if isinstance(ended.__context__, BrokenPipeError):
                _end(CLOSED_PIPE)
            raise
        except (AlloyError, KeyboardInterrupt, typer.Abort, ClickException, MemoryError, OSError) as error:
            _let_first_speak(error)
            _end(*_code_and_message(error))


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print alloykit's warnings on standard error, and with --verbose those of libraries."""

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        if launched()[0]:  # process 0 shows the same
            return
        if issubclass(category, AlloyWarning):
            echo_error(f"warning: {message}")
        elif _verbose:
            echo_error(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AlloyWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _let_first_speak(error: BaseException) -> None:
    """Wait, if process 0 has the same error or has printed it: then the launcher ends this process, which need not print it again."""
    of_all = isinstance(error, (AlloyError, ClickException)) and not speaks()
    if error.reason_printed if isinstance(error, OtherProcessEnded) else of_all:
        let_first_speak()


def _code_and_message(error: BaseException) -> tuple[int, str]:
    """The exit code and what is printed; an empty message for nothing."""
    if isinstance(error, OtherProcessEnded):
        return INVALID_INPUT, f"error: {error}" if reports_loss() and not error.reason_printed else ""
    if isinstance(error, AlloyError):
        return INVALID_INPUT, f"error: {error}"
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return (
            exit_code(),
            "stopped. Run the same command again; what is finished is not computed again."
            if launched()[0] == 0
            else "",
        )
    if isinstance(error, ClickException):
        with suppress(OSError):  # a message that cannot be written is lost, as in `echo_error`
            error.show()
        return error.exit_code, ""
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE, ""
    if isinstance(error, MemoryError):
        return INVALID_INPUT, f"error: {_no_memory(error)}"
    assert isinstance(error, OSError)  # no other code turned it into an AlloyError: full disks, missing rights
    return INVALID_INPUT, f"error: {os_error(error, error.filename or 'a file')}"


def _no_memory(error: MemoryError) -> AlloyError:
    """Where nothing more can be said: most places say what needs the memory."""
    return AlloyError(
        expected="more memory",
        got=f"'{str(error).strip()[:200]}'" if str(error).strip() else "too little for this command",
        hint="Free some memory, or use fewer or smaller models and texts. Finished parts are kept.",
    )


def _end(code: int, message: str = "") -> NoReturn:
    if _verbose and sys.exc_info()[0] is not None:
        echo_error(traceback.format_exc())
    if message:
        rank = launched()[0]
        echo_error(f"process {rank}: {message}" if rank else message)
    drop_unwritten()
    raise SystemExit(code) from None
