"""Calibration: reliability diagram and expected calibration error (ECE)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

BINS = 15


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
        mean_confidence, accuracy = float(confidence[inside].mean()), float(right[inside].mean())
        error += n / len(labels) * abs(accuracy - mean_confidence)
        rows.append(
            {"low": b / bins, "high": (b + 1) / bins, "texts": n, "confidence": mean_confidence, "accuracy": accuracy}
        )
    return {"ece": error, "overconfidence": float(confidence.mean() - right.mean()), "bins": rows}
