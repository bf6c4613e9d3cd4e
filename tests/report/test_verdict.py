"""The verdict's mood and headline: from numbers to a sentence, each case by hand."""

from __future__ import annotations

import pytest
from verdictcases import BETTER, case, check, rival

from alloykit.report.verdict import verdict


def test_clearly_better() -> None:
    found = check(case(ensemble=BETTER), "good", "The student is better than every alternative.")
    assert found.points[0] == (
        "The student's accuracy is 80.0\u00a0% on 1,000 labelled texts (95 % interval 78.0\u00a0% to 82.0\u00a0%): "
        "about one in 5 is wrong."
    )
    assert found.points[1] == (
        "The accuracy of the best alternative, the ensemble, is 70.0\u00a0%. Difference: +10.0 points "
        "(95 % interval +5.0 to +15.0, p = 0.001 after Holm's correction for 1 comparison)."
    )
    assert found.points[2].startswith(
        "Intervals and p come from the test texts alone. They are about this one training"
    )


@pytest.mark.parametrize(
    ("name", "called"), [("teacher_billing", "the best teacher alone"), ("routing", "the routing")]
)
def test_clearly_worse(name: str, called: str) -> None:
    metrics = case(**{name: rival(-0.1, -0.15, -0.05, 0.0004)})
    found = check(metrics, "poor", f"{called.capitalize()} is better than the student.")
    assert "−10.0 points (95 % interval −15.0 to −5.0, p < 0.001" in found.points[1]


@pytest.mark.parametrize(
    ("gain", "more"),
    [
        (rival(0.0, -0.019, 0.019, 1.0), ""),
        (rival(0.005, -0.01, 0.021, 0.6), ", or better"),
        (rival(0.03, -0.019, 0.08, 0.3), ", or better"),
        (rival(0.02, -0.01, 0.05, 0.05), ", or better"),
    ],
)
def test_about_as_good(gain: dict[str, float], more: str) -> None:
    check(case(ensemble=gain), "mixed", f"The student is about as good as the ensemble{more}.")


@pytest.mark.parametrize(
    "gain",
    [
        rival(0.05, -0.021, 0.12, 0.2),
        rival(-0.02, -0.06, 0.02, 0.2),
        rival(0.0, -0.05, 0.05, 1.0),  # the same accuracy on few texts is no proof that both are equally good
    ],
)
def test_undecided(gain: dict[str, float]) -> None:
    other = f"{100 * (0.8 - gain['difference']):.1f}\u00a0%"
    wanted = f"The student has 80.0\u00a0%, the ensemble {other}: no significant difference on 1,000 texts."
    check(case(ensemble=gain), "mixed", wanted)


def test_the_best_alternative_is_the_most_accurate_one() -> None:
    gains = {"teacher_a": rival(0.3, 0.2, 0.4, 0.001), "ensemble": rival(-0.1, -0.2, -0.05, 0.001), "routing": BETTER}
    found = check(case(**gains), "poor", "The ensemble is better than the student.")
    assert "is 90.0\u00a0%" in found.points[1]
    assert "for 3 comparisons" in found.points[1]


def test_better_than_anything_means_better_than_everything() -> None:
    """The second best may be told apart worse than the best, as it errs on other texts."""
    apart = "The student is better than the ensemble, but not significantly better than every alternative."
    check(case(ensemble=BETTER, teacher_a=rival(0.102, -0.01, 0.2, 0.08)), "mixed", apart)


def test_somebody_else_than_a_student_is_judged() -> None:
    found = check(
        case(judged="routing", ensemble=BETTER),
        "good",
        "The routing is better than every alternative.",
    )
    assert found.points[0].startswith("The routing's accuracy is 80.0")
    assert not any("this one training" in point for point in found.points)
    check(case(), "good", "The student was tested, with nothing to compare it to.")


def test_a_label_that_was_not_learned_spoils_a_good_verdict() -> None:
    metrics = case(ensemble=BETTER)
    metrics["evaluation"]["confusion"] = [[9, 91], [0, 900]]
    check(
        metrics,
        "mixed",
        "The student is better than every alternative, but it has not learned 1 of 2 labels.",
    )
    metrics["evaluation"]["confusion"] = [[0, 10], [0, 990]]
    assert verdict(metrics).mood == "mixed"
    for enough in ([[0, 9], [0, 991]], [[10, 90], [0, 900]]):  # too few texts to say so; found often enough
        metrics["evaluation"]["confusion"] = enough
        check(metrics, "good", "The student is better than every alternative.")
    metrics = case(ensemble=rival(-0.1, -0.15, -0.05, 0.001))
    metrics["evaluation"]["confusion"] = [[0, 100], [0, 900]]
    check(metrics, "poor", "The ensemble is better than the student.")
