"""The verdict's mood and headline: from numbers to a sentence, each case by hand."""

from __future__ import annotations

import pytest
from verdictcases import BETTER, case, check, rival

from alloykit.report.verdict import verdict


def test_clearly_better() -> None:
    found = check(case(ensemble=BETTER), "good", "The student is better than anything you could serve without it.")
    assert found.points[0] == (
        "The student names 80.0\u00a0% of 1,000 labelled texts right (95 % interval 78.0\u00a0% to 82.0\u00a0%), "
        "so about one in 5 is wrong."
    )
    assert found.points[1] == (
        "The best alternative, the ensemble, names 70.0\u00a0%: a difference of +10.0 points "
        "(95 % interval +5.0 to +15.0, p = 0.001 after Holm's correction over 1 comparisons)."
    )


@pytest.mark.parametrize(
    ("name", "called"), [("teacher_billing", "the best teacher alone"), ("routing", "the routing")]
)
def test_clearly_worse(name: str, called: str) -> None:
    metrics = case(**{name: rival(-0.1, -0.15, -0.05, 0.0004)})
    found = check(metrics, "poor", f"Not yet: {called} is better than the student.")
    assert "−10.0 points (95 % interval −15.0 to −5.0, p < 0.001" in found.points[1]


@pytest.mark.parametrize(
    "gain",
    [
        rival(0.01, -0.05, 0.07, 0.9),
        rival(-0.01, -0.05, 0.03, 0.9),
        rival(0.03, -0.019, 0.08, 0.3),
        rival(0.02, -0.01, 0.05, 0.05),
    ],
)
def test_about_as_good(gain: dict[str, float]) -> None:
    check(case(ensemble=gain), "mixed", "The student is about as good as the ensemble.")


@pytest.mark.parametrize(
    "gain", [rival(0.05, -0.021, 0.12, 0.2), rival(-0.02, -0.06, 0.02, 0.2), rival(0.011, -0.03, 0.05, 0.6)]
)
def test_undecided(gain: dict[str, float]) -> None:
    check(case(ensemble=gain), "mixed", "These texts do not decide whether the student or the ensemble is better.")


def test_the_best_alternative_is_the_most_accurate_one() -> None:
    gains = {"teacher_a": rival(0.3, 0.2, 0.4, 0.001), "ensemble": rival(-0.1, -0.2, -0.05, 0.001), "routing": BETTER}
    found = check(case(**gains), "poor", "Not yet: the ensemble is better than the student.")
    assert "names 90.0\u00a0%" in found.points[1]
    assert "over 3 comparisons" in found.points[1]


def test_better_than_anything_means_better_than_everything() -> None:
    """The second best may be told apart worse than the best, as it errs on other texts."""
    apart = "The student is better than the ensemble, but these texts do not tell it apart from all others."
    check(case(ensemble=BETTER, teacher_a=rival(0.102, -0.01, 0.2, 0.08)), "mixed", apart)


def test_somebody_else_than_a_student_is_judged() -> None:
    found = check(
        case(judged="routing", ensemble=BETTER),
        "good",
        "The routing is better than anything you could serve without it.",
    )
    assert found.points[0].startswith("The routing names 80.0")
    check(case(), "good", "The student was tested, with nothing to compare it to.")


def test_a_label_that_was_not_learned_spoils_a_good_verdict() -> None:
    metrics = case(ensemble=BETTER)
    metrics["evaluation"]["confusion"] = [[9, 91], [0, 900]]
    check(
        metrics,
        "mixed",
        "The student is better than anything you could serve without it, but it has not learned 1 of 2 labels.",
    )
    metrics["evaluation"]["confusion"] = [[0, 10], [0, 990]]
    assert verdict(metrics).mood == "mixed"
    for enough in ([[0, 9], [0, 991]], [[10, 90], [0, 900]]):  # too few texts to say so; found often enough
        metrics["evaluation"]["confusion"] = enough
        check(metrics, "good", "The student is better than anything you could serve without it.")
    metrics = case(ensemble=rival(-0.1, -0.15, -0.05, 0.001))
    metrics["evaluation"]["confusion"] = [[0, 100], [0, 900]]
    check(metrics, "poor", "Not yet: the ensemble is better than the student.")
