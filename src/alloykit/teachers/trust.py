"""Whether the user's own Python code may be imported: only inside `python_trusted(True)`, which a flag of each command opens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from alloykit.errors import AlloyError

_TRUSTED = ContextVar("trusted", default=False)


@contextmanager
def python_trusted(trusted: bool) -> Iterator[None]:
    """Inside, entries such as `python: module:function` may be imported, if `trusted`."""
    token = _TRUSTED.set(trusted or _TRUSTED.get())
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def require_trust(setting: str, name: str) -> None:
    """AlloyError outside of `python_trusted(True)`. setting: what would run code. name: the teacher's."""
    if not _TRUSTED.get():
        raise AlloyError(
            expected=f"permission to run the code of teacher '{name}'",
            got=f"{setting} without it",
            hint="If you trust that code, add --trust-python (in Python: trust_python=True).",
        )
