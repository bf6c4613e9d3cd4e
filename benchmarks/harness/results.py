"""The committed record of a table: one entry per finished or failed cell. Several processes may write to it.

The file is rewritten after each cell. What many cells have in common is in it once, under "shared", and cells name it by its digest:
"environment", each text of "warnings", and the names of the columns of "routes". `load` puts everything back in its place.
"""

from __future__ import annotations

import hashlib
import json
import string
import subprocess
from pathlib import Path
from typing import Any

from filelock import FileLock

from alloykit.files import write_atomic

RESULTS = Path(__file__).parents[1] / "results"
OPEN = ("settings", "methods", "encoders")  # parts of a configuration to which a later run may add
SHORT = string.digits + string.ascii_letters + "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"  # none needs an escape in JSON
ALPHABET = SHORT + "".join(map(chr, range(0xC0, 0x250)))
NUMBER = {letter: number for number, letter in enumerate(ALPHABET)}


class Record:
    """results/PAPER/TABLE.json: what was run, with what configuration, and each cell's outcome."""

    def __init__(self, paper: str, table: str, configuration: dict[str, Any], folder: Path = RESULTS) -> None:
        self.path = folder / paper / f"{table}.json"
        self.configuration = configuration
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lock = FileLock(self.path.parent / f".{table}.lock")
        found = self._read()
        if found["cells"] and (other := _differs(found["configuration"], _plain(configuration))):
            raise SystemExit(
                f"{self.path} holds results of another configuration: {other} differs. Commit it elsewhere or remove it, "
                "then run again."
            )

    def cells(self) -> dict[str, dict[str, Any]]:
        return dict(self._read()["cells"])

    def add(self, key: str, cell: dict[str, Any]) -> None:
        """Add one cell; cells that other processes have added meanwhile are kept."""
        with self.lock:
            found = self._read()
            found["configuration"] = _joined(found["configuration"], _plain(self.configuration))
            found["cells"][key] = _plain(cell)
            write_atomic(self.path, written(found))

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"configuration": _plain(self.configuration), "cells": {}}
        return load(self.path)


def load(path: Path) -> dict[str, Any]:
    """A results file with complete cells. A file without "shared" is read as it is."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    shared = found.pop("shared", {})
    if "cells" in found:
        found["cells"] = {key: _restored(cell, shared) for key, cell in found["cells"].items()}
    return found


def written(found: dict[str, Any]) -> str:
    """The text of a results file, from complete cells. Each cell is on one line, so that diffs are readable."""
    shared: dict[str, Any] = {}
    cells = {key: _reduced(cell, shared) for key, cell in sorted(found["cells"].items())}
    head = {k: v for k, v in found.items() if k != "cells"} | {"shared": dict(sorted(shared.items()))}
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in cells.items())
    return f'{json.dumps(head, indent=1)[:-2]},\n "cells": {{\n{lines}\n }}\n}}\n'


def _reduced(value: Any, shared: dict[str, Any]) -> Any:
    """With digests in place of what is shared."""

    def digest(part: Any) -> str:
        key = hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:8]
        if shared.setdefault(key, part) != part:
            raise ValueError(f"expected one value for the digest {key}; got {part!r} and {shared[key]!r}")
        return key

    if not isinstance(value, dict):
        return value
    found = {key: _reduced(part, shared) for key, part in value.items()}
    if "environment" in found:
        found["environment"] = digest(found["environment"])
    if "warnings" in found:
        found["warnings"] = [digest(text) for text in found["warnings"]]
    if "routes" in found:
        columns = [list(row) for row in found["routes"].values()]
        if columns and columns.count(columns[0]) == len(columns):
            rows = {name: list(row.values()) for name, row in found["routes"].items()}
            found["routes"] = {"columns": digest(columns[0]), "rows": rows}
    return found


def _restored(value: Any, shared: dict[str, Any]) -> Any:
    """With what is shared in place of its digest."""
    if not isinstance(value, dict):
        return value
    found = dict(value)
    if "columns" in found.get("routes", {}):
        columns = shared[found["routes"]["columns"]]
        found["routes"] = {name: dict(zip(columns, row, strict=True)) for name, row in found["routes"]["rows"].items()}
    if isinstance(found.get("environment"), str):
        found["environment"] = shared[found["environment"]]
    if "warnings" in found:
        found["warnings"] = [shared.get(text, text) for text in found["warnings"]]
    return {key: _restored(part, shared) if key != "environment" else part for key, part in found.items()}


def _differs(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """The first key at which two configurations differ, or None. Each may have settings, methods and encoders that the other lacks."""
    for key in old.keys() & new.keys():
        if isinstance(old[key], dict) and isinstance(new[key], dict) and key in OPEN:
            named = [n for n in old[key].keys() & new[key].keys() if old[key][n] != new[key][n]]
            if named:
                return f"{key}.{named[0]}"
        elif isinstance(old[key], dict) and isinstance(new[key], dict):
            if inside := _differs(old[key], new[key]):
                return f"{key}.{inside}"
        elif old[key] != new[key]:
            return key
    missing = (old.keys() ^ new.keys()) - set(OPEN)
    return min(missing) if missing else None


def _joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = {key: _joined(old[key], new[key]) for key in old.keys() & new.keys() if isinstance(old[key], dict)}
    return old | new | both


def letters(labels: list[int]) -> str:
    """Labels of up to 492 classes as one character each."""
    return "".join(ALPHABET[label] for label in labels)


def numbers(text: str) -> list[int]:
    return [NUMBER[c] for c in text]


def commit() -> str:
    """The commit of the code, with a + if files of the code differ from it."""
    here = Path(__file__).parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=here).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py", "benchmarks/**/*.py")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _plain(value: Any) -> Any:
    """The value after a round trip through JSON."""
    return json.loads(json.dumps(value))
