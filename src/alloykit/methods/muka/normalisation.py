"""v(x) divided by its mean over the batch, or over the pool's texts whose target is in the same group of labels (ours)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from alloykit.methods.protocol import Context, Supervision
from alloykit.outputs import Rows, Source, chunks


def normalised(v: Tensor, targets: Tensor, context: Context, kind: Literal["none", "batch", "group"]) -> Tensor:
    """v [B], targets [B, C] → [B]."""
    if kind == "batch":
        return v / v.mean().clamp(min=1e-12)
    if kind == "group":
        return v / context.state["mean_weight"].to(v)[_group(targets, context)]
    return v


def fit_normalisation(
    pool: Source, supervise: Callable[[Rows, Context], Supervision], context: Context
) -> dict[str, Tensor]:
    """The mean of v in each group. supervise: gives targets, and v without normalisation."""
    n = int(context.space.components().max()) + 1
    total, count = torch.zeros(n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    for rows in chunks(pool):
        found = supervise(rows, context)
        group = _group(found.targets, context)
        total.index_add_(0, group, found.weights.double())
        count.index_add_(0, group, torch.ones_like(found.weights, dtype=torch.float64))
    return {"mean_weight": torch.where(total > 0, total / count.clamp(min=1), torch.ones_like(total))}


def _group(targets: Tensor, context: Context) -> Tensor:
    """The group of each target's largest label: a component of the label space, for disjoint label sets the teacher. [B]"""
    return context.space.components().to(targets.device)[targets.argmax(-1)]
