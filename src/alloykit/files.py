"""Small things about files that must survive a crash."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from alloykit.errors import AlloyError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write to a temporary name, sync, rename: readers see the old file or the whole new one. AlloyError on a full disk."""
    data = content.encode() if isinstance(content, str) else content

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    replace_atomic(path, write)


def replace_atomic(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it; on any error nothing is left behind."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise AlloyError(
            expected=f"room to write {path}",
            got=f"'{getattr(error, 'strerror', None) or error}'",
            hint="Free some space or choose another folder, then run the same command again: finished parts are kept.",
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Make a rename durable; file systems that cannot sync a folder say EINVAL."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(directory)


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The content of a JSON file; AlloyError if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise AlloyError(
            expected=f"valid JSON in {path}", got=str(error), hint="Delete the file and run again."
        ) from error


def digest(value: Any) -> str:
    """SHA-256 of a JSON-like value, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()
