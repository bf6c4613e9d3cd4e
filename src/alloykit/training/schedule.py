"""Default learning rate and number of epochs, the number of steps, and how often the student is checked.

The rule for the defaults is ours. It was chosen on students of three data sets (`python -m benchmarks defaults choice`):

    learning rate = RATE · (384 / width) · (3 / layers), at most MAX_RATE
    epochs        = max(MIN_EPOCHS, (MIN_STEPS + STEPS_PER_LABEL · labels) / steps of an epoch), at most MAX_EPOCHS

A student needs a minimum number of steps even with few texts, and more steps for each label of its new head. A deep or
wide encoder needs a lower rate: for BERT-base the rule gives 2.5e-5, a usual value. Higher rates with fewer steps reach the same loss on
held-out texts, but on some data sets less accurate students, which copy more of the teachers' errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from alloykit.training.training_options import TrainingOptions

RATE, WIDTH, LAYERS = 2e-4, 384, 3  # the rate for an encoder of this width and depth
MAX_RATE = 1e-3
MIN_STEPS, STEPS_PER_LABEL = 600, 20
MIN_EPOCHS, MAX_EPOCHS = 3, 40


def default_rate(layers: int, width: int) -> float:
    """The learning rate for an encoder with this number of layers and this width, rounded to two digits."""
    return min(MAX_RATE, float(f"{RATE * (WIDTH / width) * (LAYERS / layers):.1e}"))


def min_steps(labels: int) -> int:
    """How many optimiser steps a student with this number of labels needs at least."""
    return MIN_STEPS + STEPS_PER_LABEL * labels


def default_epochs(n_texts: int, labels: int, options: TrainingOptions) -> int:
    """The default number of epochs for n training texts, with the batch size of `options`."""
    return min(MAX_EPOCHS, max(MIN_EPOCHS, math.ceil(min_steps(labels) / steps_per_epoch(n_texts, options))))


def with_defaults(options: TrainingOptions, n_texts: int, labels: int, layers: int, width: int) -> TrainingOptions:
    """The options with the default learning rate and number of epochs where they set none.

    n_texts: training texts. labels: the student's number of labels. layers, width: of its encoder.
    """
    given = {"learning_rate": options.learning_rate, "epochs": options.epochs}
    defaults = {"learning_rate": default_rate(layers, width), "epochs": float(default_epochs(n_texts, labels, options))}
    return options.model_copy(update={key: defaults[key] for key, value in given.items() if value is None})


def steps_per_epoch(n_texts: int, options: TrainingOptions) -> int:
    """Optimiser steps in which each of n texts is seen once; at least 1."""
    return max(1, math.ceil(math.ceil(n_texts / options.batch_size) / options.accumulate))


@dataclass(frozen=True)
class Schedule:
    """`total` optimiser steps, a check every `every` steps."""

    total: int
    every: int

    @property
    def checks(self) -> int:
        """The number of checks. The last step is always checked."""
        return math.ceil(self.total / self.every)

    @classmethod
    def of(cls, n_texts: int, options: TrainingOptions, epochs: float | None = None) -> Schedule:
        """For n training texts. `epochs`: the phase's own number, if it has one. TypeError for options without epochs: see `with_defaults`."""
        total = max(1, math.ceil(steps_per_epoch(n_texts, options) * (epochs or required(options.epochs, "epochs"))))
        return cls(total, options.check_every or max(min(100, math.ceil(total / 3)), math.ceil(total / 20)))


def required(value: float | None, name: str) -> float:
    """The value of a setting. TypeError if it has none yet."""
    if value is None:
        raise TypeError(f"training.{name} has no value yet: call training.schedule.with_defaults first")
    return value
