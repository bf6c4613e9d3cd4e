"""The verdict on a run without labelled texts, on one that is not finished, and what it says of warnings."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.reporting.verdict import verdict

SUPERVISION = {"effective_sample_size": 1234.4, "texts": 5000}
AGREEMENT = {"confident_teachers": {"none": 1000, "one": 3500, "several": 500}}
STUDENT = {"unseen_texts": 2500, "same_as_supervision": 0.876, "temperature": 1.2}


def untested(**parts: Any) -> dict[str, Any]:
    return {"labels": ["refund", "track"], "texts": {"used": 5000}, **parts}


def test_not_finished() -> None:
    found = verdict({})
    assert (found.status, found.headline) == ("unknown", "This run is not finished: it has no results yet.")
    assert found.points == []


def test_not_tested() -> None:
    found = verdict(untested(supervision=SUPERVISION, agreement=AGREEMENT, student=STUDENT))
    assert (found.status, found.headline) == ("unknown", "Not tested: no labelled texts were given.")
    assert found.points[1:] == [
        "The method weights the 5,000 texts. They count as much as 1,234 texts of equal weight (25\u00a0%). A text has a low weight "
        "if it is uncertain which teacher knows it.",
        "Exactly one teacher is confident on 70\u00a0% of the texts, several teachers on 10\u00a0%, no teacher on 20\u00a0%. "
        "(Confident: a probability of at least 0.9.)",
        "On 2,500 texts that were not used in training, the student gives the same label as the method's targets for 88\u00a0% of the "
        "texts (counted by weight).",
    ]


@pytest.mark.parametrize(
    ("texts", "words"), [(0, "from the texts alone, without any label"), (40, "with 40 labelled texts")]
)
def test_the_estimated_accuracy_is_in_the_headline(texts: int, words: str) -> None:
    estimated = {"overall": 0.834, "labels": {"refund": 0.9, "track": None}, "labelled_texts": texts}
    found = verdict(untested(estimated_accuracy=estimated))
    assert found.headline == "Not tested: no labelled texts were given. Estimated accuracy of the targets: 83\u00a0%."
    assert words in found.points[0]
    assert "83\u00a0%" in found.points[0]


def test_a_doubtful_estimate_says_so_in_the_headline() -> None:
    estimated = {"overall": 0.834, "labels": {"refund": 0.9}, "labelled_texts": 0, "doubt": "It may be wrong."}
    found = verdict(untested(estimated_accuracy=estimated))
    assert found.headline.endswith("Estimated accuracy of the targets: 83\u00a0%, but it is doubtful.")
    assert found.points[0].endswith("83\u00a0%. It may be wrong. Label some texts to be sure.")
    usual = verdict(untested(estimated_accuracy=estimated | {"doubt": "", "tested": "Often right."}))
    assert "doubtful" not in usual.headline
    assert usual.points[0].endswith("83\u00a0%. Often right. Label some texts to be sure.")


def test_the_report_claims_no_test_of_the_estimate_of_another_method() -> None:
    found = verdict(untested(estimated_accuracy={"overall": 0.834, "labels": {"refund": 0.9}, "labelled_texts": 0}))
    assert found.points[0].endswith("without any label: 83\u00a0%. Label some texts to be sure.")


@pytest.mark.parametrize(
    "parts",
    [
        {"supervision": None, "student": {"temperature": None}},  # no single target, as UHC
        {"student": STUDENT | {"same_as_supervision": None}},  # no text has any weight
        {"agreement": {"confident_teachers": {"none": 0, "one": 0, "several": 0}}},
        {},
    ],
)
def test_what_is_not_known_is_not_said(parts: dict[str, Any]) -> None:
    found = verdict(untested(**parts))
    assert len(found.points) == 1 + ("agreement" in parts)
    assert not any(wrong in point for point in found.points for wrong in ("nan", "None", "-0", "−0"))


@pytest.mark.parametrize(
    ("warnings", "line"),
    [(["a"], "This run has 1 warning."), (["a", "b", "c"], "This run has 3 warnings.")],
)
def test_warnings_are_counted(warnings: list[str], line: str) -> None:
    assert verdict(untested(warnings=warnings)).points[-1] == line


@pytest.mark.parametrize("warnings", [[], None])
def test_no_warnings_no_sentence(warnings: list[str] | None) -> None:
    assert "warning" not in verdict(untested(warnings=warnings)).points[-1]
