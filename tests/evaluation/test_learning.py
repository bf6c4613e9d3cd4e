"""Signs of a student that has learned too little, each by itself; a good one has none."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.evaluation.learning import Plan, late_fall, training_warnings

GOOD = {"temperature": 0.95, "unseen_texts": 75, "same_as_supervision_seen": 0.97}
BY_RULE = Plan(epochs=10, learning_rate=5e-4, default_epochs=10, default_rate=5e-4)
PAPER = Plan(epochs=3, learning_rate=2e-5, default_epochs=10, default_rate=5e-4)


def history(start: float, *checks: tuple[int, float]) -> list[dict[str, Any]]:
    return [{"loss": start, "step": 5}, *({"eval_criterion": loss, "step": step} for step, loss in checks)]


def test_a_good_student_has_no_warning() -> None:
    fall = late_fall(history(2.0, (100, 0.4), (200, 0.21), (300, 0.2)), 300)
    assert fall == pytest.approx(0.01 / 1.8)
    assert training_warnings(GOOD, fall, BY_RULE) == []
    assert training_warnings(None, None, PAPER) == []


def test_a_loss_that_still_falls_at_the_end() -> None:
    """The losses that were seen with 2e-5 and three epochs."""
    fall = late_fall(history(2.2, (47, 2.1), (94, 1.89), (141, 1.821)), 141)
    assert fall == pytest.approx(0.069 / 0.379)
    [line] = training_warnings(GOOD, fall, PAPER)
    assert "18 % of the decrease of its loss on held-out texts came in the last third" in line
    assert "Set `training: {learning_rate: 0.0005, epochs: 10}`" in line


@pytest.mark.parametrize("end", [2.0, 2.5])
def test_a_loss_that_did_not_fall_at_all(end: float) -> None:
    fall = late_fall(history(2.0, (50, 2.1), (100, end)), 100)
    assert fall == 1.0
    [line] = training_warnings(GOOD, fall, BY_RULE)
    assert "did not fall" in line


def test_without_a_check_before_the_last_third_nothing_is_said() -> None:
    assert late_fall(history(2.0, (100, 1.0)), 100) is None
    assert late_fall(history(2.0, (80, 1.1), (100, 1.0)), 100) is None
    assert late_fall(history(2.0, (50, 1.1)), 100) is None, "the last step was not checked"
    assert late_fall([], 100) is None


def test_a_student_much_flatter_than_its_targets() -> None:
    [line] = training_warnings(GOOD | {"temperature": 0.05}, 0.0, PAPER)
    assert "fitted temperature 0.05" in line
    assert "learning_rate: 0.0005" in line
    assert training_warnings(GOOD | {"temperature": 0.05, "unseen_texts": 10}, 0.0, PAPER) == [], (
        "too few texts to say so"
    )
    assert training_warnings(GOOD | {"temperature": 2.0}, 0.0, PAPER) == [], "too sure is not under-trained"
    assert training_warnings(GOOD | {"temperature": None}, 0.0, PAPER) == []


def test_a_student_that_does_not_answer_like_its_targets() -> None:
    [line] = training_warnings(GOOD | {"same_as_supervision_seen": 0.74}, 0.0, PAPER)
    assert "for only 74 % of the weight" in line
    assert "epochs: 10" in line


@pytest.mark.parametrize(
    ("epochs", "rate", "advice"),
    [
        (3, 2e-5, "Set `training: {learning_rate: 0.0005, epochs: 10}`, or leave both out"),
        (3, 5e-4, "Set `training: {epochs: 10}`. It was 3."),
        (12, 2e-5, "Set `training: {learning_rate: 0.0005}`. It was 2e-05."),
        (10, 5e-4, "Set `training: {epochs: 20}`. It was 10."),
        (10, 4e-4, "Set `training: {epochs: 20}`. It was 10."),
    ],
)
def test_the_advice_names_key_and_value(epochs: float, rate: float, advice: str) -> None:
    assert Plan(epochs, rate, default_epochs=10, default_rate=5e-4).advice.startswith(advice)
