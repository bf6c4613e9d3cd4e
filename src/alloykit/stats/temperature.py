"""Tempering of probabilities: softmax(log p / T). `fit_temperature` finds the T with which a classifier is as confident as some targets deserve."""

from __future__ import annotations

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

TEMPERATURES = (0.05, 20.0)


def tempered(probabilities: Tensor, temperature: float) -> Tensor:
    """softmax(log p / T): what the logits divided by T would have given. [n, C] → [n, C] float64."""
    return torch.softmax(_logs(probabilities) / temperature, dim=-1)


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
