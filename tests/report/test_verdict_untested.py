"""The verdict on a run without labelled texts, on one that is not finished, and what it says of warnings."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.report.verdict import verdict

SUPERVISION = {"effective_sample_size": 1234.4, "texts": 5000}
AGREEMENT = {"sure_teachers": {"none": 1000, "one": 3500, "several": 500}}
STUDENT = {"unseen_texts": 2500, "same_as_supervision": 0.876, "temperature": 1.2}


def untested(**parts: Any) -> dict[str, Any]:
    return {"labels": ["refund", "track"], "texts": {"used": 5000}, **parts}


def test_not_finished() -> None:
    found = verdict({})
    assert (found.mood, found.headline) == ("unknown", "This run is not finished: there is nothing to judge yet.")
    assert found.points == ["Run its recipe again."]


def test_nobody_has_tested_it() -> None:
    found = verdict(untested(supervision=SUPERVISION, agreement=AGREEMENT, student=STUDENT))
    assert (found.mood, found.headline) == ("unknown", "Nobody has tested this student yet.")
    assert found.points[0].startswith("No labelled texts were given.")
    assert found.points[1].startswith("The supervision is worth 1,234 of 5,000 texts (25\u00a0%)")
    assert found.points[2] == (
        "Exactly one teacher is sure on 70\u00a0% of the texts, several are on 10\u00a0%, none is on 20\u00a0%."
    )
    assert found.points[3] == (
        "On 2,500 texts that it did not train on, the student gives the supervision's answer in 88\u00a0% of the weight."
    )
    assert "`alloykit evaluate RUN --data labelled.csv`" in found.points[4]
    assert len(found.points) == 5


@pytest.mark.parametrize(
    "parts",
    [
        {"supervision": None, "student": {"temperature": None}},  # no single target, as UHC
        {"student": STUDENT | {"same_as_supervision": None}},  # no text has any weight
        {"agreement": {"sure_teachers": {"none": 0, "one": 0, "several": 0}}},
        {},
    ],
)
def test_what_is_not_known_is_not_said(parts: dict[str, Any]) -> None:
    found = verdict(untested(**parts))
    assert len(found.points) == 2 + ("agreement" in parts)
    assert not any(wrong in point for point in found.points for wrong in ("nan", "None", "-0", "−0"))


@pytest.mark.parametrize(
    ("warnings", "line"),
    [(["a"], "There is one warning: see below."), (["a", "b", "c"], "There are 3 warnings: see below.")],
)
def test_warnings_are_counted(warnings: list[str], line: str) -> None:
    assert verdict(untested(warnings=warnings)).points[-1] == line


@pytest.mark.parametrize("warnings", [[], None])
def test_no_warnings_no_sentence(warnings: list[str] | None) -> None:
    assert "warning" not in verdict(untested(warnings=warnings)).points[-1]
