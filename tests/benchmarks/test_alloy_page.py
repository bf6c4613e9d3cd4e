"""Alloy's page: how much of the way it goes, which spread is whose, and intervals over seeds; by hand-made cells."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.alloy import bar, page, routed, seeds
from benchmarks.alloy.methods import STARTS


def cell(accuracy: float, answers: str) -> dict[str, Any]:
    return {"status": "done", "accuracy": accuracy, "answers": answers}


def test_the_share_of_the_way() -> None:
    """Two seeds: 0.5 → 0.7 of 0.75 and 0.4 → 0.6 of 0.65; in balance 1/2 → 2/3 of the labels' texts."""
    cells: dict[str, Any] = {}
    for seed, (a, b, c) in enumerate([(0.5, 0.7, 0.75), (0.4, 0.6, 0.65)]):
        part = {"muka-soft": cell(a, "aabb"), "alloy": cell(b, "aaab"), "oracle": cell(c, "aaab")}
        part["teachers"] = {"status": "done", "labels": "aaab"}
        cells |= {f"ohsumed/disjoint/{seed}/{m}": v for m, v in part.items()}
    [case] = bar.cases(cells)
    assert (case.gained, case.gap) == (pytest.approx(0.2), pytest.approx(0.25))
    assert case.more == pytest.approx([1 - (2 / 3 + 1) / 2] * 2)
    assert not case.tuned
    assert bar.cases({k: v for k, v in cells.items() if k != "ohsumed/disjoint/1/alloy"}) == [], "not all seeds yet"
    lines = bar.summary([case])
    assert any("| 1 | +20.0 | +25.0 | 80% | 80% of 1 | 0 | +16.7" in line for line in lines)
    assert "| 80% |" in bar.each([case])[2]
    worse = bar.Case("shared", "x", True, 0.5, 0.6, 0.55, [-0.01, -0.02])
    assert any("(x, shared) | 0 | 1 |" in line for line in bar.summary([worse]))
    assert any("100% of 1 | 1 | -1.5 (x, shared)" in line for line in bar.summary([worse])), "none counts above 100 %"


def test_whose_spread_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Students of the same teachers lie one point apart, teachers ten."""
    monkeypatch.setattr(
        page,
        "cells_of",
        lambda _: {f"ag_news/disjoint/{s}/{m}": cell(0.5 + s / 10, "a") for s in range(3) for m in seeds.TARGETS},
    )
    cells = {f"ag_news/disjoint/{s}/{seeds.named(m, n)}": cell(0.5 + s / 10 + k / 100, "a")
             for s in range(3) for m in seeds.TARGETS for k, n in zip((1, 2), seeds.STUDENT_SEEDS, strict=True)}  # fmt: skip
    lines = page._seeds(seeds.TABLE, cells)
    assert "| AG News | Alloy | 61.0 | 10.0 | 1.0 | 50.0 to 72.0 |" in lines
    assert "| AG News | Alloy − MUKA-Soft | 0.0 | 0.0 | 0.0 | 0.0 to 0.0 |" in lines


def test_an_interval_over_seeds() -> None:
    assert routed.difference([0.5, 0.6, 0.7], [0.4, 0.5, 0.6]) == "+10.0 (+10.0 to +10.0)"
    assert routed.difference([0.50, 0.51, 0.52], [0.5, 0.5, 0.5]) == "+1.0 (−1.5 to +3.5)", (
        "t of two degrees of freedom: 4.30"
    )
    assert routed.difference([], []) == "–"


def test_where_it_fell_back() -> None:
    def told(*warnings: str) -> dict[str, Any]:
        return {"status": "done", "routes": {"alloy-entropy": {"warnings": list(warnings)}}}

    cells = {
        "ohsumed/shared/0/routes": told("two disagree: MUKA's weights serve", "nothing fits: MUKA's weights serve"),
        "ohsumed/shared/1/routes": told("42% of the texts seem to be nobody's"),
        "ohsumed/shared/0/gate": {"status": "done"},
    }
    lines = routed.not_used(cells)
    assert lines[0].startswith("Alloy used MUKA's weights instead of its own fit in 1 of 2 pools")
    assert "| ohsumed/shared/0 | two disagree; nothing fits |" in lines
    assert not any("nobody's" in line for line in lines), "that fit is used"
    assert routed.not_used({"ohsumed/shared/1/routes": cells["ohsumed/shared/1/routes"]}) == []


def test_all_sets_and_pools_at_a_glance() -> None:
    """Two sets with one seed each; Alloy's every start five points above MUKA on one of them, and below on the other."""

    def routes(muka: float, alloy: float, foreign: float | None) -> dict[str, Any]:
        values = {f"{m}-{c}": v for m, v in (("muka", muka), ("alloy", alloy)) for c in STARTS}
        every = {
            w: {"right_teacher_balanced": v, "right_teacher": v / 2, "accuracy": v / 4, "weight_on_foreign": foreign}
            for w, v in values.items()
        }
        return {"status": "done", "routes": every}  # fmt: skip

    gate = {"status": "done", "pool": {"right_teacher_balanced": 0.9}}
    cells = {
        "ag_news/disjoint/0/routes": routes(0.6, 0.65, None),
        "ag_news/disjoint/0/gate": gate,
        "ohsumed/foreign50/0/routes": routes(0.4, 0.35, 0.25),
        "ohsumed/foreign50/0/gate": gate,
    }
    lines = routed.overview(cells)
    assert "| disjoint | 1 | 60.0 | 65.0 | 90.0 | 1 | 30.0 | 32.5 | 15.0 | 16.2 |" in lines
    assert "| all | 2 | 50.0 | 50.0 | 90.0 | 1 | 25.0 | 25.0 | 12.5 | 12.5 |" in lines
    assert "| Alloy | 65.0 | 35.0 | 50.0 |" in lines
    assert "| OhSumed: foreign50 | 25 | 25 |" in lines
    assert routed.overview({}) == []
