"""The committed record of a table: one entry per finished or failed cell, written after each, by several processes if need be."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from filelock import FileLock

from alloykit.files import write_atomic

RESULTS = Path(__file__).parents[1] / "results"
OPEN = ("settings", "methods", "encoders")  # parts of a configuration to which a later run may add
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        """Put a cell down, beside whatever other processes have added meanwhile."""
        with self.lock:
            found = self._read()
            found["configuration"] = _joined(found["configuration"], _plain(self.configuration))
            found["cells"][key] = _plain(cell)
            found["cells"] = dict(sorted(found["cells"].items()))
            head = json.dumps({k: v for k, v in found.items() if k != "cells"}, indent=1)[:-2]
            rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in found["cells"].items())
            write_atomic(
                self.path, f'{head},\n "cells": {{\n{rows}\n }}\n}}\n'
            )  # a line per cell, so that diffs read well

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"configuration": _plain(self.configuration), "cells": {}}
        return dict(json.loads(self.path.read_text(encoding="utf-8")))


def _differs(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Where two configurations contradict each other. One may have settings, methods and encoders that the other lacks."""
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
    """Labels of up to 36 classes as one character each."""
    return "".join(ALPHABET[label] for label in labels)


def numbers(text: str) -> list[int]:
    return [ALPHABET.index(c) for c in text]


def commit() -> str:
    """The commit that the code stands at, with a + if files of the code differ from it."""
    here = Path(__file__).parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=here).stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py", "benchmarks/**/*.py")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def _plain(value: Any) -> Any:
    """As JSON would give it back."""
    return json.loads(json.dumps(value))
