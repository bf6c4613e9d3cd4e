"""SHA-256 of files and of JSON-like values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def while_unchanged(function: Callable[Concatenate[Path, P], R]) -> Callable[Concatenate[Path, P], R]:
    """A cached version of a function of a file: it is called again only if the file's time or size has changed. The other arguments must be hashable."""

    @lru_cache(maxsize=2048)
    def kept(path: Path, changed: int, size: int, *others: Any, **named: Any) -> Any:
        return function(path, *others, **named)

    @wraps(function)
    def known(path: Path, /, *others: P.args, **named: P.kwargs) -> R:
        found = path.stat()
        return kept(path, found.st_mtime_ns, found.st_size, *others, **named)  # type: ignore[arg-type, no-any-return]

    return known


known_sha256 = while_unchanged(file_sha256)
"""`file_sha256`, computed again only if the file's time or size has changed."""


def digest(value: Any) -> str:
    """SHA-256 of a JSON-like value, independent of the order of keys."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode(errors="backslashreplace")
    ).hexdigest()
