"""What Alloy says of a doubtful estimate is what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from alloykit.methods.alloy.estimate import DOUBT, TOO_LOW
from alloykit.methods.alloy.views import UNLIKE
from benchmarks.alloy import across, outside_targets
from benchmarks.harness.sections import cells_of

DOCS = Path(__file__).parents[2] / "docs"


def test_the_errors_of_doubtful_estimates() -> None:
    cells = [c for t in (outside_targets.TABLE, across.TABLE) for c in cells_of(t).values() if "label_agreement" in c]
    errors = {True: list[float](), False: list[float]()}
    for cell in cells:
        found = cell["estimated"]
        errors[cell["label_agreement"] < UNLIKE].append(100 * (found["estimate"] - found["accuracy"]))
    doubtful, others = np.array(errors[True]), np.array(errors[False])
    assert "In eight tested cases" in DOUBT
    assert len(doubtful) == 8
    assert f"in one tested case by {-others.min():.0f} points" in TOO_LOW
    said = [float(number) for number in re.findall(r"(\d+) points", DOUBT)]
    assert said == [round(np.abs(doubtful).mean()), round(doubtful.max())]
    told = (DOCS / "methods" / "alloy.md").read_text(encoding="utf-8")
    [(settings, below, low, high)] = re.findall(
        r"In (\d+) settings κ was measured .* κ below ([\d.]+) the mean error is ([\d.]+) points, in the other ones ([\d.]+)\.",
        told,
    )
    assert (int(settings), float(below)) == (len(cells), UNLIKE)
    assert (float(low), float(high)) == (round(np.abs(doubtful).mean(), 1), round(np.abs(others).mean(), 1))
