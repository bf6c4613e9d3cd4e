"""How many optimiser steps a phase takes, and how often it is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from alloykit.training.options import TrainingOptions


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
        """For n training texts. `epochs`: the phase's own, if it has any."""
        per_epoch = math.ceil(math.ceil(n_texts / options.batch_size) / options.accumulate)
        total = max(1, math.ceil(per_epoch * (epochs or options.epochs)))
        return cls(total, options.check_every or max(min(100, math.ceil(total / 3)), math.ceil(total / 20)))
