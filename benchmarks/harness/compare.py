"""Run cells again, in another folder, and compare them with the committed ones: for readers who check our figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.results import RESULTS
from benchmarks.harness.table import Table

NOT_COMPARED = ("groups",)  # parts of what is compared


def run_and_compare(
    table: Table,
    data: Path,
    work: Path,
    results: Path,
    committed: Path = RESULTS,
    *,
    retry: bool = False,
    **only: Sequence[Any],
) -> list[str]:
    """Run the cells that `results` does not have yet. One line for every accuracy of a cell: the new one and the committed one, in %."""
    theirs = table.record(committed).cells()
    table.fill(data, work, retry=retry, results=results, **only)
    ours = table.record(results).cells()
    return [line for cell in table.cells(**only) for line in _lines(cell.key, ours[cell.key], theirs.get(cell.key))]


def _lines(key: str, new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[str]:
    if new["status"] == "failed":
        return [f"{key}: failed: {new['error']}"]
    before = {} if old is None or old["status"] == "failed" else dict(_accuracies(old))
    lines = []
    for where, value in _accuracies(new):
        told = f"{100 * before[where]:.1f}" if where in before else "none"
        lines.append(f"{key}{where and f' ({where})'}: {100 * value:.1f} (committed: {told})")
    return lines


def _accuracies(found: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, float]]:
    """Every accuracy in a cell, and where in the cell it is."""
    for key, value in found.items():
        if key == "accuracy":
            yield where, value
        elif isinstance(value, Mapping) and key not in NOT_COMPARED:
            yield from _accuracies(value, f"{where}, {key}" if where else key)
