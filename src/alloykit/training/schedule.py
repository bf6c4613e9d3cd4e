"""How fast and how long a student learns where the recipe does not say, how many steps that takes, and how often it is checked.

The rule is ours, chosen on students of three data sets (`python -m benchmarks defaults choice`):

    learning rate = RATE · (384 / width) · (3 / layers), at most MOST_RATE
    epochs        = max(LEAST_EPOCHS, (LEAST_STEPS + STEPS_PER_LABEL · labels) / steps of an epoch), at most MOST_EPOCHS

A student needs a least number of steps, however few texts there are, and more for each label that its new head has to learn. A deep or
wide encoder needs a lower rate: for BERT-base it is 2.5e-5, which is usual. Higher rates with fewer steps give the same loss on held-out
texts, and students that are less accurate on some sets: they copy more of the teachers' errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from alloykit.training.training_options import TrainingOptions

RATE, WIDTH, LAYERS = 2e-4, 384, 3  # the rate of an encoder of this width and depth
MOST_RATE = 1e-3
LEAST_STEPS, STEPS_PER_LABEL = 600, 20
LEAST_EPOCHS, MOST_EPOCHS = 3, 40


def default_rate(layers: int, width: int) -> float:
    """The learning rate for an encoder of so many layers and this width, rounded to two digits."""
    return min(MOST_RATE, float(f"{RATE * (WIDTH / width) * (LAYERS / layers):.1e}"))


def least_steps(labels: int) -> int:
    """How many optimiser steps a student of so many labels needs."""
    return LEAST_STEPS + STEPS_PER_LABEL * labels


def default_epochs(n_texts: int, labels: int, options: TrainingOptions) -> int:
    """How often each of n training texts is learned from, with the batches of `options`."""
    return min(MOST_EPOCHS, max(LEAST_EPOCHS, math.ceil(least_steps(labels) / steps_per_epoch(n_texts, options))))


def decided(options: TrainingOptions, n_texts: int, labels: int, layers: int, width: int) -> TrainingOptions:
    """The same options with a learning rate and a number of epochs, by the rule where there were none.

    n_texts: to train on. labels: of the student. layers, width: of its encoder.
    """
    own = {"learning_rate": options.learning_rate, "epochs": options.epochs}
    chosen = {"learning_rate": default_rate(layers, width), "epochs": float(default_epochs(n_texts, labels, options))}
    return options.model_copy(update={key: chosen[key] for key, value in own.items() if value is None})


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
        """The last step is always checked."""
        return math.ceil(self.total / self.every)

    @classmethod
    def of(cls, n_texts: int, options: TrainingOptions, epochs: float | None = None) -> Schedule:
        """For n training texts. `epochs`: the phase's own, if it has any. TypeError for options without epochs: see `decided`."""
        total = max(1, math.ceil(steps_per_epoch(n_texts, options) * (epochs or known(options.epochs, "epochs"))))
        return cls(total, options.check_every or max(min(100, math.ceil(total / 3)), math.ceil(total / 20)))


def known(value: float | None, name: str) -> float:
    """A setting that must have been decided by now. TypeError if it was not."""
    if value is None:
        raise TypeError(f"training.{name} is not decided yet: call training.schedule.decided first")
    return value
