"""From cells to the numbers of a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.harness.results import letters
from benchmarks.harness.summary import Part, balanced, points, rows, spread

TRUTH = [0, 1, 2, 3] * 50


def cells(accuracies: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Cells of one data set whose methods are right on the first so many texts."""
    found: dict[str, dict[str, Any]] = {}
    for method, per_seed in accuracies.items():
        for seed, accuracy in enumerate(per_seed):
            n = round(accuracy * len(TRUTH))
            said = [y if i < n else (y + 1) % 4 for i, y in enumerate(TRUTH)]
            cell = {"status": "done", "accuracy": accuracy, "answers": letters(said)}
            found[f"toy/shared/{seed}/{method}"] = cell
            found[f"toy/shared/{seed}/teachers"] = {"status": "done", "labels": letters(TRUTH), "ensemble": cell}
    found["toy/shared/9/muka"] = {"status": "failed", "error": "it broke"}
    return found


def test_values_and_answers_of_the_seeds_that_finished() -> None:
    part = Part(cells({"muka": [0.8, 0.9], "uhc": [0.5]}), "toy", "shared")
    assert part.seeds("muka") == [0, 1]
    assert part.values("muka", "accuracy") == [0.8, 0.9]
    assert part.right("muka", [0, 1]).mean(1) == pytest.approx([0.8, 0.9])
    assert Part(part.cells, "toy", "disjoint").seeds("muka") == []


def test_a_label_without_texts_does_not_count() -> None:
    right, labels = np.array([True, True, False, True]), np.array([0, 3, 3, 0])
    assert balanced(right, labels) == pytest.approx((1 + 1 / 2) / 2)


def test_balanced_accuracy_counts_every_label_alike() -> None:
    truth, said = [0] * 90 + [1] * 10, [0] * 100
    found = {
        "toy/shared/0/teachers": {"status": "done", "labels": letters(truth)},
        "toy/shared/0/muka": {"status": "done", "answers": letters(said)},
        "toy/shared/1/muka": {"status": "done", "answers": letters(said)},  # without the truth
    }
    assert Part(found, "toy", "shared").balanced("muka") == [0.5]


def test_a_comparison_uses_the_seeds_that_both_have_and_corrects_over_the_rivals() -> None:
    part = Part(cells({"muka": [0.8, 0.9, 0.85], "uhc": [0.5, 0.6], "kd": [0.84, 0.86, 0.85]}), "toy", "shared")
    found = part.compare("muka", ["uhc", "kd", "never"])
    assert set(found) == {"uhc", "kd"}
    assert found["uhc"]["seeds"] == 2
    assert found["uhc"]["difference"] == pytest.approx(0.3)
    assert found["kd"]["difference"] == pytest.approx(0.0)
    assert found["uhc"]["p_holm"] == pytest.approx(2 * found["uhc"]["p"])
    assert found["uhc"]["p_holm"] < 0.05 < found["kd"]["p_holm"]


def test_cells_of_a_page() -> None:
    assert spread([]) == "not run"
    assert spread([0.5, 0.6, 0.7]) == f"60.0 ± {100 * np.std([0.5, 0.6, 0.7], ddof=1):.1f}"
    assert spread([0.5]) == "50.0 (1 seed)"
    assert spread([0.5] * 3, usual=5) == "50.0 ± 0.0 (3 seeds)"
    assert spread([0.5] * 5, usual=5) == "50.0 ± 0.0"
    clear = {"difference": -0.031, "low": -0.05, "high": -0.01, "p_holm": 0.01}
    assert points(clear) == "**−3.1 (−5.0 to −1.0)**"
    assert points(clear | {"p_holm": 0.2}) == "−3.1 (−5.0 to −1.0)"
    assert points(None) == "–"
    assert rows(["a", "b"], [["1", "2"]]) == ["| a | b |", "|---|---|", "| 1 | 2 |", ""]
