"""Answers of teachers that are hardly sure of anything, made as clear as others' (ours: Alloy, Eq. 1).

    p̃_i(c | x) ∝ p_i(c | x)^{β_i}          β_i: the smallest β ≥ 1 for which mean_x max_c p̃_i(c | x) ≥ ½ + ½/C_i         (1)

A teacher that was barely trained says 0.55 for one label and 0.45 for the other. A student of such answers learns whose texts it reads and never
gets to learn their labels. Which answer is the largest does not change; teachers that are sure enough are left as they are.
"""

from __future__ import annotations

import torch
from scipy.optimize import brentq
from torch import Tensor

SURE = 0.5  # of the way from guessing to certainty
MOST = 100.0  # β of a teacher that says the same of everything


def power(probabilities: Tensor) -> float:
    """β of Eq. 1, from one teacher's answers to a pool, [n, C_i]."""
    logs, classes = _logs(probabilities), probabilities.shape[-1]
    goal = 1 / classes + SURE * (1 - 1 / classes)

    def above(beta: float) -> float:
        return float(torch.softmax(beta * logs, -1).amax(-1).mean()) - goal

    if above(1.0) >= 0:
        return 1.0
    return MOST if above(MOST) <= 0 else float(brentq(above, 1.0, MOST, xtol=1e-6))


def sharpened(probabilities: Tensor, beta: float) -> Tensor:
    """p̃ of Eq. 1, float64."""
    return torch.softmax(beta * _logs(probabilities), -1)


def _logs(probabilities: Tensor) -> Tensor:
    return probabilities.double().clamp(min=1e-12).log()
