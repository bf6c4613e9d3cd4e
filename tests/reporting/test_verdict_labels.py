"""The verdict on a run of multi-label teachers."""

from __future__ import annotations

from typing import Any

import pytest
from verdictcases import check

from alloykit.reporting.next_steps import next_steps


def several(student: float, mean: float, **gain: float) -> dict[str, Any]:
    """metrics.json with these micro-F1 on 200 texts. gain: the interval and p of their difference, if it was tested."""
    scores = {
        name: {"micro_f1": f1, "labels": {}} for name, f1 in (("student", student), ("mean of the teachers", mean))
    }
    tested = {"mean of the teachers": {"difference": student - mean, "texts": 200} | gain} if gain else None
    evaluation = {"texts": 200, "scores": scores} | ({"significance": tested} if tested else {})
    return {"multi_label": {"evaluation": evaluation}}


@pytest.mark.parametrize(
    ("student", "mean", "gain", "status", "conclusion"),
    [
        (0.8, 0.808, (-0.03, 0.01, 0.3), "good", "no significant difference"),
        (0.8, 0.808, (-0.019, -0.001, 0.04), "good", "the mean of the teachers is significantly better"),
        (0.8, 0.79, (-0.01, 0.03, 0.3), "good", "the student is equal or better"),
        (0.8, 0.8, (-0.01, 0.01, 1.0), "good", "about equal"),
        (0.8, 0.77, (0.01, 0.05, 0.01), "good", "the student is significantly better"),
        (0.8, 0.9, (-0.25, 0.05, 0.2), "mixed", "no significant difference"),
        (0.8, 0.9, (-0.15, -0.05, 0.001), "poor", "the mean of the teachers is significantly better"),
        (0.4, 0.4, (-0.01, 0.01, 1.0), "poor", "about equal"),
    ],
)
def test_the_student_is_compared_with_the_mean_of_its_teachers(
    student: float, mean: float, gain: tuple[float, float, float], status: str, conclusion: str
) -> None:
    metrics = several(student, mean, **dict(zip(("low", "high", "p"), gain, strict=True)))
    figures = f"Micro-F1 of the student {100 * student:.1f}\u00a0%, of the mean of the teachers {100 * mean:.1f}\u00a0%"
    found = check(metrics, status, f"{figures}: {conclusion} on 200 texts.")
    assert any(point.startswith("Difference: ") and " p\u00a0" in point for point in found.points)
    assert any("more than two errors" in point for point in found.points) is (student < 0.5)
    assert ("The test found no problem." in next_steps(metrics)[0]) is (status != "poor")


def test_both_are_compared_on_the_texts_that_the_teachers_answered() -> None:
    """On all texts the student has 76.8 %: it is worse on those that the teachers have no answer to."""
    metrics = several(0.768, 0.873, difference=0.075, low=0.05, high=0.1, p=0.001, texts=120)
    figures = "Micro-F1 of the student 94.8\u00a0%, of the mean of the teachers 87.3\u00a0%"
    where = "the 120 of 200 texts that a teacher has an answer to"
    check(metrics, "good", f"{figures}: the student is significantly better on {where}.")


def test_a_run_of_an_earlier_version_has_no_test_of_the_difference() -> None:
    figures = "Micro-F1 of the student 80.0\u00a0%, of the mean of the teachers 90.0\u00a0%"
    found = check(several(0.8, 0.9), "poor", f"{figures} on 200 texts.")
    assert not any("Difference" in point for point in found.points)
