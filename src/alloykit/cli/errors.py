"""How a command ends that could not finish: one message, and an exit code that says whose fault it was."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from alloykit.errors import AlloyError, AlloyWarning
from alloykit.files import os_error
from alloykit.terminal import complain, drop_unwritten, guarded

# typer brings its own click and exports only this leaf of its errors: [2] is ClickException.
ClickException: Any = typer.BadParameter.__mro__[2]
NOBODY_READS = 141  # what a shell reports of a program that SIGPIPE ended: `alloykit predict … | head -1`


@contextmanager
def explained() -> Iterator[None]:
    """Turn what a user can fix into one message and exit code 2, an interrupt into 130, a closed pipe into 141 without a message.

    Standard output is flushed at the end, so that a full disk behind it is noticed."""

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        if issubclass(category, AlloyWarning):
            complain(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AlloyWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            with guarded():
                yield
        except AlloyError as error:
            _end(2, f"error: {error}")
        except (KeyboardInterrupt, typer.Abort):
            _end(130, "stopped. Run the same command again to go on.")
        except ClickException as error:
            error.show()
            _end(error.exit_code)
        except BrokenPipeError:
            _end(NOBODY_READS)
        except SystemExit as ended:  # typer and rich turn a closed pipe into exit code 1
            if isinstance(ended.__context__, BrokenPipeError):
                _end(NOBODY_READS)
            raise
        except OSError as error:  # a place that nobody thought of: its reason lies outside of the program all the same
            _end(2, f"error: {os_error(error, error.filename or 'a file')}")


def _end(code: int, message: str = "") -> NoReturn:
    if message:
        complain(message)
    drop_unwritten()
    raise SystemExit(code) from None
