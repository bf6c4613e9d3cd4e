"""The verdict's status and headline, each case by hand."""

from __future__ import annotations

import pytest
from verdictcases import BETTER, case, check, rival

from alloykit.reporting.verdict import verdict


def headline(best: str, accuracy: float, conclusion: str) -> str:
    return f"Accuracy of the student 80.0\u00a0%, of {best} {100 * accuracy:.1f}\u00a0%: {conclusion} on 1,000 texts."


def test_significantly_better() -> None:
    wanted = headline("the ensemble", 0.7, "the student is significantly better than every alternative")
    found = check(case(ensemble=BETTER), "good", wanted)
    assert found.points[:3] == [
        "The accuracy of the student is 80.0\u00a0% on 1,000 labelled texts (95\u00a0% interval 78.0\u00a0% to 82.0\u00a0%). "
        "About 1 in 5 answers is wrong.",
        "The best alternative is the ensemble (the label with the largest output of all teachers) with 70.0\u00a0%. Difference: +10.0 points "
        "(95\u00a0% interval +5.0 to +15.0, p\u00a0=\u00a00.001 after Holm's correction for 1 comparison).",
        "The intervals and p are about this one training. Another seed gives another student.",
    ]


@pytest.mark.parametrize(("name", "called"), [("teacher billing", "teacher billing"), ("routing", "the routing")])
def test_significantly_worse(name: str, called: str) -> None:
    metrics = case(**{name.replace(" ", "_"): rival(-0.1, -0.15, -0.05, 0.0004)})
    found = check(metrics, "poor", headline(called, 0.9, f"{called} is significantly better"))
    assert "−10.0 points (95\u00a0% interval −15.0 to −5.0, p\u00a0<\u00a00.001" in found.points[1]


@pytest.mark.parametrize(
    ("gain", "conclusion"),
    [
        (rival(0.0, -0.019, 0.019, 1.0), "about equal"),
        (rival(0.005, -0.01, 0.021, 0.6), "the student is equal or better"),
        (rival(0.03, -0.019, 0.08, 0.3), "the student is equal or better"),
        (rival(0.02, -0.01, 0.05, 0.05), "the student is equal or better"),
        (rival(0.05, -0.021, 0.12, 0.2), "no significant difference"),
        (rival(-0.02, -0.06, 0.02, 0.2), "no significant difference"),
        # The same accuracy on few texts is no proof that both are equally good.
        (rival(0.0, -0.05, 0.05, 1.0), "no significant difference"),
    ],
)
def test_no_significant_difference(gain: dict[str, float], conclusion: str) -> None:
    check(case(ensemble=gain), "mixed", headline("the ensemble", 0.8 - gain["difference"], conclusion))


def test_the_best_alternative_is_the_most_accurate_one() -> None:
    gains = {"teacher_a": rival(0.3, 0.2, 0.4, 0.001), "ensemble": rival(-0.1, -0.2, -0.05, 0.001), "routing": BETTER}
    found = check(case(**gains), "poor", headline("the ensemble", 0.9, "the ensemble is significantly better"))
    assert found.points[1].startswith("The best alternative is the ensemble (the label")
    assert "for 3 comparisons" in found.points[1]
    assert not any(point.startswith("The ensemble") for point in found.points), "said once"


def test_a_teacher_without_an_answer_to_some_texts_is_compared_on_the_others() -> None:
    metrics = case(teacher_faq=rival(-0.1, -0.15, -0.05, 0.0004), ensemble=BETTER)
    metrics["evaluation"]["scores"]["teacher faq"] |= {"accuracy": 0.95, "unanswered": 100}
    on = "on the 900 of 1,000 texts that teacher faq has an answer to"
    found = check(
        metrics,
        "poor",
        f"Accuracy of the student 85.0\u00a0%, of teacher faq 95.0\u00a0%: teacher faq is significantly better {on}.",
    )
    assert found.points[1].startswith(f"The best alternative is teacher faq with 95.0\u00a0% {on}. Difference: −10.0")
    metrics["evaluation"]["scores"]["teacher faq"]["unanswered"] = 101
    wanted = headline("the ensemble", 0.7, "the student is significantly better than every alternative")
    check(metrics, "good", wanted)


def test_the_ensemble_is_named_beside_a_better_alternative() -> None:
    found = check(
        case(ensemble=rival(0.2, 0.15, 0.25, 0.0004), routing=rival(-0.01, -0.03, 0.01, 0.3)),
        "mixed",
        headline("the routing", 0.81, "no significant difference"),
    )
    assert found.points[2] == (
        "The ensemble (the label with the largest output of all teachers) has 60.0\u00a0%. Difference: +20.0 points "
        "(95\u00a0% interval +15.0 to +25.0, p\u00a0<\u00a00.001)."
    )


def test_better_than_the_best_is_not_yet_better_than_every_alternative() -> None:
    """The difference to the second best can be less certain, as it errs on other texts."""
    conclusion = "the student is significantly better than the ensemble, but not than every alternative"
    metrics = case(ensemble=BETTER, teacher_a=rival(0.102, -0.01, 0.2, 0.08))
    check(metrics, "mixed", headline("the ensemble", 0.7, conclusion))


def test_a_run_without_a_student_is_judged_by_its_routing() -> None:
    wanted = "Accuracy of the routing 80.0\u00a0%, of the ensemble 70.0\u00a0%: the routing is significantly better than every alternative on 1,000 texts."
    found = check(case(judged="routing", ensemble=BETTER), "good", wanted)
    assert found.points[0].startswith("The accuracy of the routing is 80.0")
    assert not any("this one training" in point for point in found.points)
    check(
        case(), "good", "Accuracy of the student 80.0\u00a0%: no alternative to the student was tested on 1,000 texts."
    )


def test_a_label_that_was_not_learned_lowers_a_good_status() -> None:
    metrics = case(ensemble=BETTER)
    better = headline("the ensemble", 0.7, "the student is significantly better than every alternative")
    metrics["evaluation"]["confusion"] = [[9, 91], [0, 900]]
    check(metrics, "mixed", f"{better[:-1]}, but it has not learned 1 of 2 labels.")
    metrics["evaluation"]["confusion"] = [[0, 10], [0, 990]]
    assert verdict(metrics).status == "mixed"
    for enough in ([[0, 9], [0, 991]], [[10, 90], [0, 900]]):  # too few texts; a high enough recall
        metrics["evaluation"]["confusion"] = enough
        check(metrics, "good", better)
    metrics = case(ensemble=rival(-0.1, -0.15, -0.05, 0.001))
    metrics["evaluation"]["confusion"] = [[0, 100], [0, 900]]
    check(metrics, "poor", headline("the ensemble", 0.9, "the ensemble is significantly better"))
