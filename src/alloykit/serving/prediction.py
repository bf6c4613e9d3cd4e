"""What a classifier answers to some texts."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Prediction:
    """Answers to n texts, in their order.

    `probabilities`: [n, C] float32. `none_of_these`: [n] float64, the share of the pool's texts that are less unusual
    (stats/none_of_these.py); None where it was not asked for.
    """

    probabilities: Tensor
    none_of_these: Tensor | None = None
