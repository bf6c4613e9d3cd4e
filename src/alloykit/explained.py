"""How a command ends that could not finish: one message, and an exit code that says whose fault it was."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from alloykit.errors import AlloyError, AlloyWarning
from alloykit.files import os_error

# typer brings its own click and exports only this leaf of its errors: [2] is ClickException.
ClickException: Any = typer.BadParameter.__mro__[2]


@contextmanager
def explained() -> Iterator[None]:
    """Turn what a user can mend into one message and exit code 2, and an interrupt into 130."""

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        if issubclass(category, AlloyWarning):
            print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", AlloyWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except AlloyError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        except (KeyboardInterrupt, typer.Abort):
            print("stopped. Run the same command again to go on.", file=sys.stderr)
            raise SystemExit(130) from None
        except ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        except OSError as error:  # a place that nobody thought of: its reason lies outside of the program all the same
            print(f"error: {os_error(error, error.filename or 'a file')}", file=sys.stderr)
            raise SystemExit(2) from None
