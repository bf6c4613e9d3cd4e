"""The learning rate and the number of epochs of a recipe that says neither."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alloykit.training.schedule import (
    MAX_EPOCHS,
    MAX_RATE,
    MIN_EPOCHS,
    MIN_STEPS,
    RATE,
    STEPS_PER_LABEL,
    Schedule,
    default_epochs,
    default_rate,
    min_steps,
    steps_per_epoch,
    with_defaults,
)
from alloykit.training.training_options import TrainingOptions

NOTHING_SAID = TrainingOptions()


def test_the_rate_falls_with_depth_and_width() -> None:
    assert default_rate(3, 384) == RATE
    assert default_rate(12, 384) == RATE / 4, "four times the layers, a quarter of the rate"
    assert default_rate(3, 768) == RATE / 2
    assert 2e-5 < default_rate(12, 768) < 2e-4, "an encoder like BERT-base"
    assert default_rate(7, 511) == float(f"{default_rate(7, 511):.1e}"), "two digits, as people write it"
    assert default_rate(1, 64) == MAX_RATE, "however small"


@pytest.mark.parametrize("n", [500, 1_500, 5_000, 100_000])
def test_a_student_gets_enough_steps_from_any_number_of_texts(n: int) -> None:
    options = with_defaults(NOTHING_SAID, n, 20, 3, 384)
    assert min_steps(20) == MIN_STEPS + 20 * STEPS_PER_LABEL
    assert options.epochs is not None
    assert Schedule.of(n, options).total >= min_steps(20) or options.epochs == MAX_EPOCHS
    assert options.epochs >= MIN_EPOCHS


@given(st.integers(1, 200_000), st.integers(2, 100), st.integers(1, 128), st.integers(1, 8))
def test_epochs_are_the_fewest_that_are_enough(n: int, labels: int, batch_size: int, accumulate: int) -> None:
    options = TrainingOptions(batch_size=batch_size, accumulate=accumulate)
    epochs = default_epochs(n, labels, options)
    each = math.ceil(math.ceil(n / batch_size) / accumulate)
    assert steps_per_epoch(n, options) == each
    assert MIN_EPOCHS <= epochs <= MAX_EPOCHS
    assert epochs == MAX_EPOCHS or epochs * each >= min_steps(labels)
    assert epochs == MIN_EPOCHS or (epochs - 1) * each < min_steps(labels)


@pytest.mark.parametrize(
    ("steps", "every", "checks"), [(1, 1, 1), (2, 1, 2), (4, 2, 2), (100, 34, 3), (301, 100, 4), (2000, 100, 20), (2001, 101, 20)]
)  # fmt: skip
def test_a_student_is_checked_three_to_twenty_times(steps: int, every: int, checks: int) -> None:
    """At least three times and every hundred steps, but not more than twenty times."""
    schedule = Schedule.of(steps, TrainingOptions(batch_size=1, epochs=1))
    assert (schedule.total, schedule.every, schedule.checks) == (steps, every, checks)
    assert Schedule.of(steps, TrainingOptions(batch_size=1, epochs=1, check_every=7)).every == 7


def test_what_the_recipe_says_stays() -> None:
    said = TrainingOptions(epochs=0.5, learning_rate=2e-5)
    assert with_defaults(said, 10, 4, 3, 384) == said
    assert with_defaults(TrainingOptions(epochs=2), 10, 4, 3, 384).epochs == 2
    assert with_defaults(TrainingOptions(learning_rate=1e-5), 10, 4, 12, 768).learning_rate == 1e-5


def test_steps_are_not_counted_before_epochs_are_decided() -> None:
    with pytest.raises(TypeError, match="training.epochs has no value yet"):
        Schedule.of(100, NOTHING_SAID)
    assert Schedule.of(100, NOTHING_SAID, epochs=2).total == 8
