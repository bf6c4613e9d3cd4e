"""The reasons under the verdict's headline, each case by hand."""

from __future__ import annotations

import pytest
from verdictcases import BETTER, case, points, rival

from alloykit.reporting.verdict import verdict


@pytest.mark.parametrize(
    ("accuracy", "errors"),
    [
        (0.996, "Fewer than 1 in 200 answers are wrong."),
        (0.994, "About 1 in 167 answers is wrong."),
        (0.9, "About 1 in 10 answers is wrong."),
        (0.8, "About 1 in 5 answers is wrong."),
        (0.6, "About 40\u00a0% of its answers are wrong."),
        (0.49, "About 51\u00a0% of its answers are wrong."),
        (0.2, "About 80\u00a0% of its answers are wrong."),  # not 1 in 1
        (0.0, "About 100\u00a0% of its answers are wrong."),
    ],
)
def test_how_many_are_wrong(accuracy: float, errors: str) -> None:
    assert verdict(case(accuracy, ensemble=BETTER)).points[0].endswith(f"). {errors}")


def test_more_wrong_answers_than_correct_ones() -> None:
    sentence = "It gives more wrong answers than correct ones."
    found = verdict(case(0.49, ensemble=BETTER))
    assert found.status == "poor"
    assert sentence in found.points
    found = verdict(case(0.49, ensemble=rival(0.0, -0.01, 0.01, 1.0)))
    assert found.status == "poor"
    assert sentence in found.points
    assert sentence not in verdict(case(0.5, ensemble=BETTER)).points


def test_the_labels_with_the_lowest_recall() -> None:
    metrics = case(ensemble=BETTER)
    metrics["labels"] = ["a", "b", "c", "d", "e", "f"]
    matrix = [[0] * 6 for _ in range(6)]
    for i, right in enumerate((69, 70, 20, 55, 0, 10)):
        matrix[i][i], matrix[i][0 if i else 1] = right, 100 - right
    matrix[4] = [0] * 6  # not among the test texts
    metrics["evaluation"]["confusion"] = matrix
    assert points(metrics, "Lowest recall") == [
        "Lowest recall: f (10\u00a0% of 100 texts), c (20\u00a0% of 100 texts), d (55\u00a0% of 100 texts)."
    ]
    matrix[2], matrix[3], matrix[5] = ([0] * i + [1200] + [0] * (5 - i) for i in (2, 3, 5))
    assert points(metrics, "Lowest recall") == ["Lowest recall: a (69\u00a0% of 100 texts)."]
    metrics["evaluation"]["confusion"] = [[0, i + 1, 0, 0, 0, 0] if i != 1 else [0] * 6 for i in range(6)]
    assert points(metrics, "Lowest recall") == [
        "Lowest recall: f (0\u00a0% of 6 texts), e (0\u00a0% of 5 texts), d (0\u00a0% of 4 texts)."
    ], "of equal recalls, those that are surer"
    assert not points(case(ensemble=BETTER), "Lowest recall")


@pytest.mark.parametrize(
    ("over", "ece", "tempered", "line"),
    [
        (0.029, 0.049, None, "The probabilities of the student are well calibrated (calibration error 4.9\u00a0%)."),
        (-0.029, 0.031, 0.05, "The probabilities of the student are well calibrated (calibration error 3.1\u00a0%)."),
        # Right on average, and nowhere else.
        (0.01, 0.05, None, "The student is overconfident on some texts and underconfident on others (calibration error 5.0\u00a0%)."),
        (0.12, 0.123, None, "The student is overconfident by 12 points on average (calibration error 12.3\u00a0%)."),
        (-0.12, 0.123, 0.05, "The student is underconfident by 12 points on average (calibration error 12.3\u00a0%). The temperature, "
         "which was fitted without labels, changes the calibration error to 5.0\u00a0%."),
    ],
)  # fmt: skip
def test_calibration(over: float, ece: float, tempered: float | None, line: str) -> None:
    metrics = case(ensemble=BETTER)
    metrics["evaluation"]["reliability"]["student"] = {"ece": ece, "overconfidence": over}
    if tempered is not None:
        metrics["evaluation"]["reliability"]["student, tempered"] = {"ece": tempered, "overconfidence": 0.0}
    assert points(metrics, "calibration error") == [line]


def test_what_better_routing_would_gain() -> None:
    metrics = case(routing=BETTER)
    assert not points(metrics, "largest weight")
    metrics["evaluation"]["scores"] |= {"oracle routing": {"accuracy": 0.97}}
    [line] = points(metrics, "Routing loses")
    assert "largest weight" not in line, "a method that weighs no teachers"
    metrics["evaluation"]["scores"]["routing"]["correct_teacher"] = 0.62
    assert points(metrics, "largest weight") == [
        "Routing loses 27.0 points: oracle routing, which asks only teachers that know the true label, has an accuracy of 97.0\u00a0%. "
        "The teacher with the largest weight knows the true label of 62\u00a0% of the texts."
    ]


@pytest.mark.parametrize("value", [-0.0004, 0.0004, 0.0])
def test_nothing_is_minus_zero(value: float) -> None:
    found = verdict(case(ensemble=rival(value, value, value, 1.0)))
    assert "Difference: +0.0 points (95\u00a0% interval +0.0 to +0.0," in found.points[1]
