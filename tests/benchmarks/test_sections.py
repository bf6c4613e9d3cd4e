"""What pages say of one method against others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from benchmarks.harness.results import letters
from benchmarks.harness.sections import comparisons, gaps
from benchmarks.harness.table import Cell


def test_each_rival_has_a_row_and_a_setting_without_results_no_column() -> None:
    def cell(right: int) -> dict[str, Any]:
        return {"status": "done", "answers": letters([0] * right + [1] * (4 - right)), "accuracy": right / 4}

    cells = {"a/pool/0/teachers": {"status": "done", "labels": letters([0] * 4)}}
    cells |= {f"a/pool/0/{method}": cell(n) for method, n in (("ours", 4), ("first", 3), ("second", 1))}
    settings = [SimpleNamespace(name=name, title=name.upper()) for name in ("a", "b")]
    titles = {"ours": "Ours", "first": "First", "second": "Second"}
    table: Any = SimpleNamespace(settings=settings)
    lines = comparisons(table, cells, "pool", titles, ["ours"], ["first", "second"])
    assert "| Ours − | A |" in lines
    assert [line.split("|")[1].strip() for line in lines if line.startswith(("| First", "| Second"))] == [
        "First",
        "Second",
    ]
    assert "+25.0" in next(line for line in lines if line.startswith("| First"))


def test_seeds_that_lack_the_same_methods_stand_together() -> None:
    grid = [Cell("pool", setting, seed, method) for setting in "ab" for seed in range(4) for method in ("x", "y")]
    table: Any = SimpleNamespace(cells=lambda: iter(grid))
    done = {"a/pool/0/x": {"status": "done"}, "a/pool/2/x": {"status": "done"}, "a/pool/3/y": {"status": "done"}}
    assert gaps(table, done) == [
        "- not run: a, pool: seeds 0, 2 (y); seed 1 (all methods); seed 3 (x)",
        "- not run: b, pool: all of it",
        "",
    ]
    failed = {cell.key: {"status": "failed", "error": "no memory"} for cell in grid[:1]}
    assert gaps(table, failed)[0] == "- failed: a/pool/0/x: no memory"
    assert gaps(table, {cell.key: {"status": "done"} for cell in grid}) == []
