"""Between the student and the best possible there are training and routing: the verdict blames the one that costs more."""

from __future__ import annotations

from typing import Any

from verdictcases import case, rival, said

ADVICE = "Set `training: {learning_rate: 0.0005, epochs: 10}`, or leave both out."


def learned(student: float, routing: float, best: float) -> dict[str, Any]:
    gain = student - routing
    metrics = case(student, routing=rival(gain, gain - 0.02, gain + 0.02, 0.001))
    metrics["evaluation"]["scores"]["routing"] |= {"right_teacher": 0.95}
    metrics["evaluation"]["scores"]["oracle routing"] = {"accuracy": best}
    return metrics | {"learning": {"advice": ADVICE, "late_fall": 0.2}}


def test_training_is_blamed_for_what_it_lost() -> None:
    metrics = learned(0.747, 0.871, 0.897)  # as it was seen
    [line] = said(metrics, "lost in training")
    assert "12.4 points less accurate than its routing (87.1\u00a0%)" in line
    assert "Training costs more than routing, which is 2.6 points below the best possible." in line
    assert line.endswith(ADVICE)
    [line] = said(metrics, "most weight")
    assert "2.6 points more than its routing" in line


def test_routing_is_blamed_for_what_it_lost() -> None:
    [line] = said(learned(0.68, 0.70, 0.90), "lost in training")
    assert "2.0 points" in line
    assert "Routing costs more: it is 20.0 points below the best possible." in line
    assert ADVICE not in line


def test_a_student_as_good_as_its_routing_has_nothing_to_answer_for() -> None:
    assert not said(learned(0.87, 0.875, 0.9), "lost in training")
    assert not said(learned(0.88, 0.87, 0.9), "lost in training")
    only_routing = case(0.8, judged="routing")
    assert not said(only_routing, "lost in training")


def test_without_a_best_possible_nothing_is_compared() -> None:
    metrics = learned(0.747, 0.871, 0.897)
    del metrics["evaluation"]["scores"]["oracle routing"]
    [line] = said(metrics, "lost in training")
    assert "best possible" not in line
    assert line.endswith(ADVICE)
