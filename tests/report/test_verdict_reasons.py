"""The reasons under the verdict's headline, each case by hand."""

from __future__ import annotations

import pytest
from verdictcases import BETTER, case, check, rival, said

from alloykit.report.verdict import verdict


@pytest.mark.parametrize(
    ("accuracy", "wrong"),
    [
        (0.996, "fewer than one in 200 are wrong"),
        (0.994, "one in 167 is wrong"),
        (0.9, "one in 10 is wrong"),
        (0.8, "one in 5 is wrong"),
        (0.5, "one in 2 is wrong"),
        (0.49, "51\u00a0% are wrong"),
        (0.2, "80\u00a0% are wrong"),  # not one in one
        (0.0, "100\u00a0% are wrong"),
    ],
)
def test_how_many_are_wrong(accuracy: float, wrong: str) -> None:
    assert verdict(case(accuracy, ensemble=BETTER)).points[0].endswith(f": about {wrong}.")


def test_wrong_more_often_than_right() -> None:
    found = check(case(0.49, ensemble=BETTER), "poor", "The student is better than every alternative.")
    assert "Better is not good: it is wrong more often than right." in found.points
    found = check(
        case(0.49, ensemble=rival(0.0, -0.01, 0.01, 1.0)), "mixed", "The student is about as good as the ensemble."
    )
    assert "It is wrong more often than right." in found.points
    assert not said(case(0.5, ensemble=BETTER), "wrong more often")


def test_the_weakest_labels() -> None:
    metrics = case(ensemble=BETTER)
    metrics["labels"] = ["a", "b", "c", "d", "e", "f"]
    matrix = [[0] * 6 for _ in range(6)]
    for i, right in enumerate((69, 70, 20, 55, 0, 10)):
        matrix[i][i], matrix[i][0 if i else 1] = right, 100 - right
    matrix[4] = [0] * 6  # not among the test texts
    metrics["evaluation"]["confusion"] = matrix
    (line,) = said(metrics, "Weakest")
    assert line == "Weakest labels: f (10\u00a0% of 100), c (20\u00a0% of 100), d (55\u00a0% of 100)."
    matrix[2], matrix[3], matrix[5] = ([0] * i + [1200] + [0] * (5 - i) for i in (2, 3, 5))
    assert said(metrics, "Weakest") == ["Weakest labels: a (69\u00a0% of 100)."]
    assert not said(case(ensemble=BETTER), "Weakest")


@pytest.mark.parametrize(
    ("over", "tempered", "line"),
    [
        (0.029, None, "Its probabilities can be taken at face value (calibration error 3.1\u00a0%)."),
        (-0.029, 0.05, "Its probabilities can be taken at face value (calibration error 3.1\u00a0%)."),
        (0.12, None, "It is surer of itself than it should be: on average by 12 points (calibration error 12.3\u00a0%)."),
        (-0.12, 0.05, "It is less sure of itself than it could be: on average by 12 points (calibration error 12.3\u00a0%); "
         "the temperature found without labels makes that 5.0\u00a0%."),
    ],
)  # fmt: skip
def test_calibration(over: float, tempered: float | None, line: str) -> None:
    metrics = case(ensemble=BETTER)
    metrics["evaluation"]["reliability"]["student"] = {
        "ece": 0.031 if abs(over) < 0.03 else 0.123,
        "overconfidence": over,
    }
    if tempered is not None:
        metrics["evaluation"]["reliability"]["student, tempered"] = {"ece": tempered, "overconfidence": 0.0}
    assert line in verdict(metrics).points


def test_face_value_takes_a_small_calibration_error() -> None:
    """Too sure of some texts and not sure enough of others is right on average, and nowhere else."""
    metrics = case(ensemble=BETTER)
    for ece in (0.05, 0.25):
        metrics["evaluation"]["reliability"]["student"] = {"ece": ece, "overconfidence": 0.01}
        assert not said(metrics, "face value")
        assert said(metrics, "calibration error") == [
            f"It is too sure of some texts and not sure enough of others (calibration error {100 * ece:.1f}\u00a0%)."
        ]
    metrics["evaluation"]["reliability"]["student"] = {"ece": 0.049, "overconfidence": 0.01}
    assert said(metrics, "face value")


def test_routing_is_what_stands_between_the_teachers_and_their_best() -> None:
    metrics = case(routing=BETTER)
    assert not said(metrics, "most weight")
    metrics["evaluation"]["scores"] |= {"oracle routing": {"accuracy": 0.97}}
    assert not said(metrics, "most weight"), "a method that weighs no teachers"
    metrics["evaluation"]["scores"]["routing"]["right_teacher"] = 0.62
    (line,) = said(metrics, "most weight")
    assert "on 62\u00a0% of the texts" in line
    assert "right on 97.0\u00a0%" in line


@pytest.mark.parametrize("value", [-0.0004, 0.0004, 0.0])
def test_nothing_is_minus_zero(value: float) -> None:
    check(case(ensemble=rival(value, value, value, 1.0)), "mixed", "The student is about as good as the ensemble.")
