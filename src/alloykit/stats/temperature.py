"""Tempering and sharpening of probabilities: softmax(log p / T) and softmax(β log p), where β = 1 / T.

`fit_temperature` finds the T with which a classifier is as confident as some targets deserve. `fit_sharpening` finds the β with which a
nearly flat classifier becomes as clear as others (ours: Alloy, Eq. 1):

    p̃(c | x) ∝ p(c | x)^β          β: the smallest β ≥ 1 for which mean_x max_c p̃(c | x) ≥ ½ + ½/C

The largest probability of a text stays the largest. A classifier that is clear enough keeps β = 1.
"""

from __future__ import annotations

import torch
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

TEMPERATURES = (0.05, 20.0)
CLEAR = 0.5  # of the way from a uniform answer to a certain one
LARGEST_SHARPENING = 100.0  # β of a classifier that gives the same answer to every text


def tempered(probabilities: Tensor, temperature: float) -> Tensor:
    """softmax(log p / T): what the logits divided by T would have given. [n, C] → [n, C] float64."""
    return torch.softmax(_logs(probabilities) / temperature, dim=-1)


def sharpened(probabilities: Tensor, sharpening: float) -> Tensor:
    """softmax(β log p): the probabilities to the power β, divided by their sum. [n, C] → [n, C] float64."""
    return torch.softmax(sharpening * _logs(probabilities), dim=-1)


def fit_sharpening(probabilities: Tensor) -> float:
    """β of one teacher's answers to a pool, [n, C_i]."""
    logs, classes = _logs(probabilities), probabilities.shape[-1]
    goal = 1 / classes + CLEAR * (1 - 1 / classes)

    def above(beta: float) -> float:
        return float(torch.softmax(beta * logs, -1).amax(-1).mean()) - goal

    if above(1.0) >= 0:
        return 1.0
    largest = LARGEST_SHARPENING
    return largest if above(largest) <= 0 else float(brentq(above, 1.0, largest, xtol=1e-6))


def fit_temperature(probabilities: Tensor, targets: Tensor, weights: Tensor | None = None) -> float:
    """The T for which softmax(log p / T) explains the targets best: the lowest Σ_x v(x) CE(target, ·).

    targets: [n, C], rows sum to one. weights: v, [n]; None for 1. Without labels the targets are the method's supervision on texts that
    the student did not train on (ours): the temperature then makes the student as confident as that supervision deserves, not as the truth does.
    """
    v = torch.ones(len(probabilities), dtype=torch.float64) if weights is None else weights.double()
    if float(v.sum()) <= 0:
        return 1.0
    log = _logs(probabilities)

    def loss(log_temperature: float) -> float:
        q = torch.log_softmax(log / torch.tensor(log_temperature, dtype=torch.float64).exp(), dim=-1)
        return float(-(v * (targets.double() * q).sum(-1)).sum() / v.sum())

    low, high = (float(torch.tensor(t).log()) for t in TEMPERATURES)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
    return float(torch.tensor(found.x).exp())


def _logs(probabilities: Tensor) -> Tensor:
    return probabilities.double().clamp(min=1e-12).log()
