"""Between the student and oracle routing there are training and routing: the verdict says what each one loses."""

from __future__ import annotations

from typing import Any

from verdictcases import case, points, rival

ADVICE = "Set `training: {learning_rate: 0.0005, epochs: 10}`, or leave both out."


def learned(student: float, routing: float, oracle: float) -> dict[str, Any]:
    gain = student - routing
    metrics = case(student, routing=rival(gain, gain - 0.02, gain + 0.02, 0.001))
    metrics["evaluation"]["scores"]["routing"] |= {"correct_teacher": 0.95}
    metrics["evaluation"]["scores"]["oracle routing"] = {"accuracy": oracle}
    return metrics | {"learning": {"advice": ADVICE, "late_fall": 0.2}}


def test_training_loses_more() -> None:
    assert points(learned(0.747, 0.871, 0.897), "Training loses") == [
        "Training loses 12.4 points: the student learned from the routing, which has an accuracy of 87.1\u00a0%."
    ]


def test_routing_loses_more() -> None:
    lines = points(learned(0.68, 0.70, 0.90), " loses ")
    assert [line.split(":")[0] for line in lines] == ["Training loses 2.0 points", "Routing loses 20.0 points"]


def test_routing_loses_almost_nothing() -> None:
    [line] = points(learned(0.68, 0.70, 0.705), "Routing loses")
    assert line.startswith("Routing loses almost nothing: oracle routing")


def test_a_student_as_good_as_its_routing() -> None:
    assert not points(learned(0.87, 0.875, 0.9), "Training loses")
    assert not points(learned(0.88, 0.87, 0.9), "Training loses")
    assert not points(case(0.8, judged="routing"), "Training loses")


def test_without_oracle_routing_nothing_is_compared() -> None:
    metrics = learned(0.747, 0.871, 0.897)
    del metrics["evaluation"]["scores"]["oracle routing"]
    assert points(metrics, "Training loses")
    assert not points(metrics, "oracle")
