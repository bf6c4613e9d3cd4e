"""JSON files, written atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors, refuse_streams
from alloykit.files import write_atomic


def write_json(path: Path, value: Any) -> None:
    """`write_atomic` of a value as indented JSON. AlloyError."""
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The content of a JSON file. AlloyError if it is damaged or cannot be read."""
    try:
        with file_errors(path):
            refuse_streams(path)
            return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise AlloyError(
            expected=f"valid JSON in {path}", got=str(error), hint="Delete the file and run again."
        ) from error
