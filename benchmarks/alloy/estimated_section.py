"""The parts of the pages about the estimated accuracy: its errors in short, and in every setting and pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.alloy import across, in_common, more_targets, outside_targets, six_layers, targets, unequal
from benchmarks.alloy.estimated import LEAST
from benchmarks.alloy.settings import CHOICE, in_order, set_of
from benchmarks.harness.sections import cells_of
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import rows

WORDS = (
    "Accuracy of Alloy's targets on the pool, as the run estimates it without labels ([Eqs. 16, 17](../../docs/methods/alloy.md#how-accurate-is-it)), beside the plain estimate: the mean of the targets' "
    f"largest probability. Errors in points; by label: the mean over the labels that at least {LEAST} texts of the pool get. Bold: the smaller error. Eq. 16 was chosen on the sets of the choice, with other teachers; its earlier form was chosen on pools of seed 0 of these and the reported sets, so these two "
    "groups have the other seeds only."
)
FIGURES = (
    "accuracy, %", "estimate, %", "its error", "mean confidence, %", "its error", "by label: error of the estimate",
    "by label: error of the mean confidence",
)  # fmt: skip
MORE = {
    "labels dealt again, overlapping or uneven": more_targets.TABLE,
    "many labels in common": in_common.TABLE,
    "one teacher worse than the others": unequal.TABLE,
    "six layers": six_layers.TABLE,
    "different data sets": across.TABLE,
    "later sets": outside_targets.TABLE,
}  # other tables' teachers


@dataclass(frozen=True)
class Estimated:
    """Means over the seeds of a setting and pool. `figures` [7]: as in FIGURES, as fractions; the last two are NaN without labels that count."""

    setting: Setting
    pool: str
    seeds: int
    figures: Sequence[float]


def means() -> list[str]:
    """A line for each group of settings."""
    body = [[name, len(these), *_mean(these)] for name, these in _groups().items()]
    return _section([rows(["mean over settings and pools", "number", *FIGURES], body)] if body else [])


def by_setting() -> list[str]:
    """A line for each setting and pool, and the mean of each group below it."""
    body = []
    for name, these in _groups().items():
        if name != "all sets":
            body += [[e.setting.title, e.pool, e.seeds, *_shown(e.figures)] for e in these]
        body.append([f"*mean, {name}*", "", "", *_mean(these)])
    return _section([rows(["", "pool", "seeds", *FIGURES], body)] if body else [])


def _section(tables: Sequence[list[str]]) -> list[str]:
    lines = ["## Estimated accuracy", "", WORDS, ""]
    return [*lines, *(line for table in tables for line in table)] if tables else [*lines, "Not run yet.", ""]


def _groups() -> dict[str, list[Estimated]]:
    """Those that have a case; "all sets" has the first two."""
    main = _found(cells_of(targets.TABLE), targets.TABLE.settings, without="0")
    chosen = [e for e in main if set_of(e.setting) in CHOICE]
    groups = {"sets of the choice": chosen, "reported sets": [e for e in main if e not in chosen], "all sets": main}
    groups |= {name: _found(cells_of(table), table.settings) for name, table in MORE.items()}
    return {name: these for name, these in groups.items() if these}


def _found(cells: Mapping[str, Any], settings: Sequence[Setting], without: str | None = None) -> list[Estimated]:
    """What Alloy's cells say of the estimate, setting by setting. without: a seed that does not count."""
    each: dict[tuple[str, str], list[Any]] = {}
    for key, cell in cells.items():
        name, pool, seed, method = key.split("/")
        if method == "alloy" and cell["status"] == "done" and "estimated" in cell and seed != without:
            each.setdefault((name, pool), []).append(cell["estimated"])
    return [
        Estimated(setting, pool, len(each[name, pool]), _figures(each[name, pool]))
        for setting in in_order(settings)
        for name, pool in sorted(each)
        if name == setting.name
    ]


def _figures(each: Sequence[Any]) -> list[float]:
    found = []
    for e in each:
        labels = np.array(e["labels"]).reshape(-1, 3)
        by_label = np.abs(labels[:, 1:] - labels[:, :1]).mean(0) if len(labels) else np.full(2, np.nan)
        found.append([e["accuracy"], e["estimate"], abs(e["estimate"] - e["accuracy"]), e["confidence"],
                      abs(e["confidence"] - e["accuracy"]), *by_label])  # fmt: skip
    return [float(value) for value in np.mean(np.array(found), 0)]


def _mean(these: Sequence[Estimated]) -> list[str]:
    return _shown(np.nanmean(np.array([e.figures for e in these]), 0))


def _shown(figures: Any) -> list[str]:
    shown = [f"{100 * value:.1f}" for value in figures]
    for one, other in ((2, 4), (5, 6)):
        best = one if figures[one] < figures[other] else other
        shown[best] = f"**{shown[best]}**"
    return shown
