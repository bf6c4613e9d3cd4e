"""Cells are run again in another folder and compared with the committed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.alloy import outside
from benchmarks.harness import table
from benchmarks.harness.compare import run_and_compare

CELLS = {"setting": ["bbc_news-2-deal1"], "seed": [0], "method": ["alloy", "energy"]}
KEY = "bbc_news-2-deal1/disjoint/0/{}".format


def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: list[Any]) -> list[str]:
    left = iter(found)

    def cell(*_: Any) -> dict[str, Any]:
        if isinstance(outcome := next(left), Exception):
            raise outcome
        return {"status": "done", **outcome}

    monkeypatch.setattr(table, "run_cell", cell)
    to, committed = tmp_path / "new", tmp_path / "committed"
    return run_and_compare(outside.TABLE, tmp_path, tmp_path / "work", to, committed, **CELLS)


def test_every_accuracy_stands_beside_the_committed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = outside.TABLE.record(tmp_path / "committed")
    committed.add(KEY("alloy"), {"status": "done", "pool": {"accuracy": 0.5}, "test": {"accuracy": 0.9}})
    before = committed.path.read_text()
    new = {"accuracy": 0.25, "groups": {"teacher1": {"accuracy": 0.1}}}
    told = _run(tmp_path, monkeypatch, [{"pool": {"accuracy": 0.625}, "test": {"accuracy": 0.9}}, new])
    assert told == [
        f"{KEY('alloy')} (pool): 62.5 (committed: 50.0)",
        f"{KEY('alloy')} (test): 90.0 (committed: 90.0)",
        f"{KEY('energy')}: 25.0 (committed: none)",
    ]
    assert committed.path.read_text() == before
    assert _run(tmp_path, monkeypatch, []) == told, "finished cells are not run again"


def test_a_failed_cell_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = _run(tmp_path, monkeypatch, [ValueError("no room"), {"accuracy": 1.0}])
    assert told == [f"{KEY('alloy')}: failed: ValueError: no room", f"{KEY('energy')}: 100.0 (committed: none)"]
