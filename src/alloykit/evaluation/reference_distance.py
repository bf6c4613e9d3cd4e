"""Distance of the supervision from a reference classifier (MUKA, Fig. 4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alloykit.labels import LabelSpace

CLEAR = 0.5  # the v(x) at which MUKA's Fig. 4 cuts
EPSILON = 1e-3


def oracle_routing(teachers: list[Tensor], labels: Tensor, space: LabelSpace, counts: Tensor | None = None) -> Tensor:
    """The mean output of the teachers that know the true label: Σ_{i knows y} Pad_i(p_i) / #. [n, C] float64 (ours).

    teachers: per teacher [n, C], zero at labels that it does not know. counts: whose answer to which text counts, [n, N] bool; None: all. If no
    teacher that knows the label has an answer, those that have one take their place. The reference of the paper (its "oracle") is a model trained on all labels;
    this one needs no further model and shows how much routing alone loses.
    """
    knows = space.has_label()[:, labels]  # [N, n]
    if counts is not None:
        some = counts.T
        instead = torch.where(some.any(0), some, True)
        knows = torch.where((knows & some).any(0), knows & some, instead)
    knows = knows.double()
    outputs = torch.stack([p.double() for p in teachers])
    return (knows.unsqueeze(-1) * outputs).sum(0) / knows.sum(0).unsqueeze(-1)


def kl_to(reference: Tensor, q: Tensor, epsilon: float = EPSILON) -> Tensor:
    """KL(reference ‖ (1 − ε) q + ε / C) per text, [n] float64, in nats. ε (ours) because a wrongly routed hard target has
    zeros where the reference has all its mass: such a text then costs about log(C / ε) instead of infinity."""
    smooth = (1 - epsilon) * q.double() + epsilon / q.shape[-1]
    p = reference.double()
    return (torch.xlogy(p, p) - p * smooth.log()).sum(-1)


def distance(reference: Tensor, ways: dict[str, Tensor], weights: Tensor | None) -> dict[str, Any]:
    """Mean KL(reference ‖ ·) of every classifier. With weights v(x), the routing also has its mean over texts with v ≥ 0.5 and over the others."""
    per_text = {name: kl_to(reference, q) for name, q in ways.items()}
    found: dict[str, Any] = {"mean": {name: float(kl.mean()) for name, kl in per_text.items()}}
    if weights is not None and "routing" in per_text:
        clear = weights >= CLEAR
        found["clear_texts"] = int(clear.sum())
        for name, part in (("routing_clear", clear), ("routing_unclear", ~clear)):
            found[name] = float(per_text["routing"][part].mean()) if bool(part.any()) else None
    return found
