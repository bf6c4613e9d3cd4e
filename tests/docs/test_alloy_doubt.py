"""What Alloy and its page say of doubtful estimates and of a wrong background is what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from alloykit.methods.alloy.estimate import DOUBT, TOO_LOW
from alloykit.methods.alloy.views import UNLIKE
from benchmarks.alloy import across, more_targets, outside_targets, targets
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


def test_the_pools_that_got_a_background_by_mistake() -> None:
    pools, found = set[str](), set[str]()
    for table in (targets.TABLE, more_targets.TABLE):
        for key, cell in cells_of(table).items():
            pool = key.removesuffix("/alloy")
            if key != pool and pool.endswith("/0") and "foreign" not in pool:  # other seeds have no rivals
                pools.add(pool)
                found |= {pool for warning in cell["warnings"] if "have a label that no teacher knows" in warning}
    assert sorted(found) == ["google_snippets/natural/0", "ohsumed-4/skew5-first/0"]
    told = (DOCS / "methods" / "alloy.md").read_text(encoding="utf-8")
    assert f"Of the {len(pools)} pools without foreign texts in the tables of the targets, two got" in told
