"""Tempering of probabilities: softmax(log p / T), or σ(logit p / T) of labels that do not exclude each other. `fit_temperature` finds the T with which a classifier is as confident as some targets deserve."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
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

    def loss(temperature: float) -> float:
        q = torch.log_softmax(log / temperature, dim=-1)
        return float(-(v * (targets.double() * q).sum(-1)).sum() / v.sum())

    return _lowest(loss)


def tempered_sigmoid(probabilities: Tensor, temperature: float) -> Tensor:
    """σ(logit p / T): what the logits divided by T would have given, label by label. [n, C] → [n, C] float64."""
    return torch.sigmoid(_logits(probabilities) / temperature)


def fit_binary_temperature(probabilities: Tensor, targets: Tensor, known: Tensor) -> float:
    """The T for which σ(logit p / T) explains the targets best: the lowest mean binary cross-entropy over texts and labels.

    targets: probabilities of each label, [n, C]. known: which of them count, [n, C] bool.
    """
    if not bool(known.any()):
        return 1.0
    z, t = _logits(probabilities)[known], targets.double()[known]

    def loss(scaled: Tensor) -> float:
        return float(torch.nn.functional.binary_cross_entropy_with_logits(scaled, t))

    return _lowest(lambda temperature: loss(z / temperature))


def _lowest(loss: Callable[[float], float]) -> float:
    """The temperature with the lowest loss."""
    from scipy.optimize import minimize_scalar

    low, high = (math.log(t) for t in TEMPERATURES)
    found = minimize_scalar(
        lambda log_t: loss(math.exp(log_t)), bounds=(low, high), method="bounded", options={"xatol": 1e-4}
    )
    return math.exp(found.x)


def _logits(probabilities: Tensor) -> Tensor:
    return torch.logit(probabilities.double(), eps=1e-12)


def _logs(probabilities: Tensor) -> Tensor:
    return probabilities.double().clamp(min=1e-12).log()
