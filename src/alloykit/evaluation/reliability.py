"""Is a classifier as often right as it says? Reliability diagram, ECE, and the one temperature that mends most of it."""

from __future__ import annotations

from typing import Any

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

BINS = 15
TEMPERATURES = (0.05, 20.0)


def reliability(probabilities: Tensor, labels: Tensor, bins: int = BINS) -> dict[str, Any]:
    """Expected calibration error of the top label (Guo et al. 2017): Σ_b (n_b / n) |accuracy_b − confidence_b|.

    probabilities [n, C], labels [n] int64. Bins are equally wide over (0, 1]; one with no texts is left out of `bins`.
    `overconfidence` is mean confidence − accuracy, from −1 to 1.
    """
    confidence, predicted = probabilities.double().max(-1)
    right = (predicted == labels).double()
    place = (confidence * bins).ceil().long().clamp(1, bins) - 1
    rows, error = [], 0.0
    for b in range(bins):
        inside = place == b
        n = int(inside.sum())
        if not n:
            continue
        said, was = float(confidence[inside].mean()), float(right[inside].mean())
        error += n / len(labels) * abs(was - said)
        rows.append({"low": b / bins, "high": (b + 1) / bins, "texts": n, "confidence": said, "accuracy": was})
    return {"ece": error, "overconfidence": float(confidence.mean() - right.mean()), "bins": rows}


def tempered(probabilities: Tensor, temperature: float) -> Tensor:
    """softmax(log p / T): what the logits divided by T would have given. [n, C] → [n, C] float64."""
    return torch.softmax(probabilities.double().clamp(min=1e-12).log() / temperature, dim=-1)


def fit_temperature(probabilities: Tensor, targets: Tensor, weights: Tensor | None = None) -> float:
    """The T for which softmax(log p / T) explains the targets best: the lowest Σ_x v(x) CE(target, ·).

    targets: [n, C], rows sum to one. Without labels they are the method's supervision on texts that the student did not
    train on (ours): the temperature then makes the student as sure as that supervision deserves, not as the truth does.
    """
    v = torch.ones(len(probabilities), dtype=torch.float64) if weights is None else weights.double()
    if float(v.sum()) <= 0:
        return 1.0
    log = probabilities.double().clamp(min=1e-12).log()

    def loss(log_temperature: float) -> float:
        q = torch.log_softmax(log / torch.tensor(log_temperature, dtype=torch.float64).exp(), dim=-1)
        return float(-(v * (targets.double() * q).sum(-1)).sum() / v.sum())

    low, high = (float(torch.tensor(t).log()) for t in TEMPERATURES)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
    return float(torch.tensor(found.x).exp())
