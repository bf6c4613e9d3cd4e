"""What Alloy's fit did to the pool, in metrics.json and on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import toyruns

from alloykit.report.page import load, pictures


@pytest.fixture(scope="module")
def fitted(runs: toyruns.Runs) -> Path:
    return toyruns.run(
        runs.root, "alloy", method={"name": "alloy", "texts_per_label": 8, "min_texts": 8}, report={"show_texts": True}
    )


def test_shares_changes_and_examples(fitted: Path, runs: toyruns.Runs) -> None:
    fit = json.loads((fitted / "metrics.json").read_text(encoding="utf-8"))["fit"]
    names = list(toyruns.toy.TEAMS)
    assert list(fit["shares"]) == [*names, "nobody"]
    for row in zip(*fit["shares"].values(), strict=True):
        assert sum(row) == pytest.approx(1)
    assert fit["texts"] == len(runs.pool)
    assert set(fit["surer"]) == set(fit["powers"]) == set(names)
    assert all(power >= 1 for power in fit["powers"].values())
    assert 0 <= fit["agreed"] <= 1
    assert 0 < fit["exponent"] <= 1
    assert len(fit["examples"]) == min(12, round(fit["changed"] * fit["texts"]))
    for entry in fit["examples"]:
        assert entry["from"] != entry["to"]
        assert 0 <= entry["share_at_first"] < entry["share"] <= 1
        assert entry["text"] == runs.pool[entry["row"]]


def test_the_page_shows_them(fitted: Path) -> None:
    page = (fitted / "report.html").read_text(encoding="utf-8")
    assert "Whose texts they are" in page
    assert "Texts that changed owner" in page
    fit = json.loads((fitted / "metrics.json").read_text(encoding="utf-8"))["fit"]
    assert f"it calls {100 * fit['agreed']:.1f}\xa0% of those that somebody knows by the same label" in page
    assert f"its log-odds are multiplied by {fit['exponent']:.2f}" in page
    sharpened = {name for name, power in fit["powers"].items() if power > 1}
    assert {name for name in fit["powers"] if f"{name}'s answers are nearly flat" in page} == sharpened
    drawn = [p for p in pictures(load(fitted)) if p.caption.startswith("Whose texts")]
    assert len(drawn) == 1
    assert drawn[0].headings[0] == "round"
    assert ">15<" in drawn[0].svg
    assert ">15.0<" not in drawn[0].svg, "there is no half of a round"


def test_a_pool_that_is_too_small_is_a_warning(runs: toyruns.Runs) -> None:
    folder = toyruns.run(runs.root, "alloy-small", method={"name": "alloy", "texts_per_label": 1000}, evaluate=None)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert any("too few to see whose they are" in line for line in metrics["warnings"])
    assert "Whose texts they are" not in (folder / "report.html").read_text(encoding="utf-8")


def test_methods_that_fit_nothing_show_nothing(runs: toyruns.Runs) -> None:
    assert "Whose texts they are" not in (runs.vanilla / "report.html").read_text(encoding="utf-8")
