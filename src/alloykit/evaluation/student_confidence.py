"""The confidence of the student on the pool, and its calibration without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.methods.protocol import Supervision
from alloykit.stats.temperature import fit_temperature, tempered

BINS = 20
SHOWN = 20  # texts with the lowest confidence that are listed


def pool_confidence(
    probabilities: Tensor,
    supervision: Supervision | None,
    unseen: Tensor,
    names: Sequence[str],
    rows: Sequence[int],
    temperature: float | None = None,
) -> dict[str, Any]:
    """The student's confidence over some texts of the pool, its label-free calibration, and the texts with the lowest confidence.

    probabilities: [n, C] of the student. supervision: the method's, for the same texts. unseen: [n] bool, texts that the
    student did not train on; the temperature is fitted to the supervision of those alone. rows: [n], positions in the input.
    temperature: the one that was fitted before; None: fit it now.
    """
    found: dict[str, Any] = {"texts": len(probabilities), "temperature": None}
    if supervision is not None and int(unseen.sum()) >= 2:
        target, v = supervision.targets[unseen], supervision.weights[unseen].double()
        found["temperature"] = temperature or fit_temperature(probabilities[unseen], target, v)
        found["unseen_texts"] = int(unseen.sum())
        found["same_as_supervision"] = same_answers(probabilities[unseen], target, v)
    if supervision is not None and not bool(unseen.all()):
        seen = ~unseen
        target, v = supervision.targets[seen], supervision.weights[seen]
        found["same_as_supervision_seen"] = same_answers(probabilities[seen], target, v)
    calibrated = tempered(probabilities, found["temperature"] or 1.0)
    top = calibrated.max(-1).values
    found["mean_confidence"] = float(top.mean())
    found["confidence"] = torch.histc(top, BINS, 0, 1).int().tolist()
    predicted = torch.bincount(probabilities.argmax(-1), minlength=len(names))
    found["predicted"] = {name: int(k) for name, k in zip(names, predicted.tolist(), strict=True)}
    order = sorted(range(len(top)), key=lambda i: (float(top[i]), rows[i]))[:SHOWN]
    found["least_certain"] = [
        {
            "row": int(rows[i]),
            "labels": {
                names[c]: float(calibrated[i, c]) for c in calibrated[i].topk(min(2, len(names))).indices.tolist()
            },
        }
        for i in order
    ]
    return found


def same_answers(probabilities: Tensor, targets: Tensor, weights: Tensor) -> float | None:
    """The share of the weight of some texts on which the student gives the target's label; None if all weights are 0."""
    v = weights.double()
    same = (probabilities.argmax(-1) == targets.argmax(-1)).double()
    return float((v * same).sum() / v.sum()) if float(v.sum()) > 0 else None
