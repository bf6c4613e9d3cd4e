"""The table of students with a few labelled texts: accuracy by the number of texts for every label."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.alloy.few import COUNTS, TABLE
from benchmarks.harness.sections import Cells, made
from benchmarks.harness.summary import rows

WHAT = (
    "Students with 1 to 20 labelled texts for every label (`labelled:`), beside fine-tuning the same encoder on these texts alone. "
    "Accuracy on test texts, %, mean over the seeds that have the cell."
)


def few_labels(cells: Cells) -> list[str]:
    lines = ["## Few labels", "", WHAT, ""]
    body = [row for setting in TABLE.settings if (row := _row(cells, setting.name, setting.title))]
    if not body:
        return [*lines, "Not run yet.", ""]
    heading = [
        "",
        "Alloy, no labels",
        *(f"Alloy, {n}" for n in COUNTS),
        *(f"fine-tuning, {n}" for n in COUNTS),
        "seeds",
    ]
    return [*lines, *made(TABLE, cells), *rows(heading, body)]


def _row(cells: Cells, setting: str, title: str) -> list[str] | None:
    names = ["alloy", *(f"alloy, {n}" for n in COUNTS), *(f"fine-tuning, {n}" for n in COUNTS)]
    found = {name: _accuracies(cells, setting, name) for name in names}
    if not any(found.values()):
        return None
    shown = [f"{100 * statistics.fmean(values):.1f}" if values else "not run" for values in found.values()]
    return [title, *shown, str(max(len(values) for values in found.values()))]


def _accuracies(cells: Cells, setting: str, method: str) -> Sequence[float]:
    keys = (f"{setting}/disjoint/{seed}/{method}" for seed in TABLE.profile.seeds)
    return [cells[key]["accuracy"] for key in keys if key in cells and cells[key]["status"] == "done"]
