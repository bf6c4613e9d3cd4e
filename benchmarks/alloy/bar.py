"""Which share of the gap between MUKA-Soft's student and the perfectly routed one Alloy closes: by set and pool, on average, and as a figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.alloy import students
from benchmarks.alloy.methods import TUNED
from benchmarks.harness.plots import BLUE, GREY, ORANGE, save
from benchmarks.harness.sections import Cells
from benchmarks.harness.summary import Part, rows

NO_GAP = 0.01  # where perfect routing gains less than a point, a share of it says nothing
LOSS = 0.005  # balanced accuracy that Alloy may lose against MUKA-Soft


@dataclass(frozen=True)
class Case:
    """Mean accuracies of one set and pool; `more`: balanced accuracy, Alloy minus MUKA-Soft, by seed."""

    pool: str
    title: str
    tuned: bool
    soft: float
    alloy: float
    oracle: float
    more: list[float]

    @property
    def gained(self) -> float:
        return self.alloy - self.soft

    @property
    def gap(self) -> float:
        return self.oracle - self.soft


def cases(cells: Cells) -> list[Case]:
    found = []
    for pool in students.TABLE.grid:
        for s in students.TABLE.settings:
            part = Part(cells, s.name, pool)
            ways = ("muka-soft", "alloy", "oracle")
            means = [part.values(m, "accuracy") for m in ways]
            if all(means) and all(part.seeds(m) == part.seeds("alloy") for m in ways):  # a run still going is left out
                more = np.array(part.balanced("alloy")) - np.array(part.balanced("muka-soft"))
                tuned = s.name.split("-")[0] in TUNED
                found.append(Case(pool, s.title, tuned, *(float(np.mean(m)) for m in means), more.tolist()))
    return found


def summary(found: list[Case]) -> list[str]:
    """One line for the sets on which Alloy was chosen, one for the others, one for all."""
    body = []
    for name, which in (("sets of the choice", [True]), ("other sets", [False]), ("all", [True, False])):
        these = [c for c in found if c.tuned in which]
        if not these:
            continue
        wide = [c for c in these if c.gap > NO_GAP]
        capped = [min(c.gained / c.gap, 1.0) for c in wide]
        worst = min(these, key=lambda c: float(np.mean(c.more)))
        body.append([
            name, len(these), f"{100 * np.mean([c.gained for c in these]):+.1f}", f"{100 * np.mean([c.gap for c in these]):+.1f}",
            f"{sum(c.gained for c in these) / sum(c.gap for c in these):.0%}",
            f"{np.mean(capped):.0%} of {len(wide)}" if wide else "–",
            sum(float(np.mean(c.more)) < -LOSS for c in these),
            f"{100 * np.mean(worst.more):+.1f} ({worst.title}, {worst.pool})",
            sum(c.alloy < c.soft for c in these), sum(c.alloy > c.oracle for c in these),
        ])  # fmt: skip
    headings = [
        "", "sets × pools", "Alloy − MUKA-Soft, points", "perfect routing − MUKA-Soft", "share of the summed gap closed",
        "mean share closed, at most 100 % each (gaps above a point)", "balanced accuracy more than 0.5 points lower in", "lowest, balanced points",
        "accuracy below MUKA-Soft in", "accuracy above perfect routing in",
    ]  # fmt: skip
    return rows(headings, body)


def each(found: list[Case]) -> list[str]:
    body = []
    for c in found:
        closed = f"{c.gained / c.gap:.0%}" if c.gap > NO_GAP else "no gap"
        spread = f" ± {100 * np.std(c.more, ddof=1):.1f}" if len(c.more) > 1 else ""
        means = (f"{100 * v:.1f}" for v in (c.soft, c.alloy, c.oracle))
        body.append([c.pool, c.title, *means, closed, f"{100 * np.mean(c.more):+.1f}{spread}"])
    headings = [
        "pool", "set", "MUKA-Soft, %", "Alloy, %", "perfect routing, %", "share of the gap closed",
        "balanced accuracy, Alloy − MUKA-Soft, points (± over seeds)",
    ]  # fmt: skip
    return rows(headings, body)


def figure_of(found: list[Case]) -> list[str]:
    """A line per set and pool: MUKA-Soft, Alloy, perfect routing."""
    figure, axis = plt.subplots(figsize=(8, 0.24 * len(found) + 1.2))
    at = np.arange(len(found))[::-1]
    for value, colour, mark, name in (
        ([c.soft for c in found], ORANGE, "o", "MUKA-Soft"),
        ([c.alloy for c in found], BLUE, "o", "Alloy"),
        ([c.oracle for c in found], GREY, "|", "perfect routing"),
    ):
        axis.plot(100 * np.array(value), at, mark, color=colour, label=name, markersize=7)
    axis.hlines(at, [100 * c.soft for c in found], [100 * c.alloy for c in found], color=BLUE, alpha=0.4)
    axis.set_yticks(at, [f"{c.title}: {c.pool}" for c in found], fontsize=8)
    axis.set(xlabel="student's accuracy, %")
    axis.grid(axis="x", alpha=0.3)
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.4, 1 + 1.1 / len(found)), ncols=3)
    return save(
        students.TABLE, figure, "Accuracy of the students of MUKA-Soft, Alloy and perfect routing, by set and pool"
    )
