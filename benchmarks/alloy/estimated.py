"""The method's own estimate of its accuracy, beside the truth and the mean confidence of its targets."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from alloykit.methods.protocol import EstimatedAccuracy

LEAST = 10  # labels with fewer texts are left out: their true accuracy is mostly chance


def beside(estimated: EstimatedAccuracy, targets: Tensor, labels: Tensor) -> dict[str, Any]:
    """Truth, estimate and mean confidence, over all texts and by label. targets [n, C], labels [n]: of the pool's texts with a known label."""
    confidence, chosen = targets.max(-1)
    right = (chosen == labels).double()
    each = []
    for c, guess in enumerate(estimated.by_label):
        of_label = chosen == c
        if guess is not None and int(of_label.sum()) >= LEAST:
            each.append([float(right[of_label].mean()), guess, float(confidence[of_label].double().mean())])
    return {
        "accuracy": float(right.mean()),
        "estimate": estimated.overall,
        "confidence": float(confidence.double().mean()),
        "labels": [[round(value, 4) for value in values] for values in each],
    }
