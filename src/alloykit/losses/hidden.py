"""Distances between hidden states, without padding. One value per text, [B]."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_mse(a: Tensor, b: Tensor, mask: Tensor) -> Tensor:
    """Mean over a text's real tokens and all widths of (a − b)². a, b [B, L, d]; mask [B, L] → [B]; 0 for a text without any."""
    each = ((a - b) ** 2).mean(-1)
    mask = mask.to(each)
    return (each * mask).sum(-1) / mask.sum(-1).clamp(min=1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over a text's real tokens. states [B, L', d], mask [B, L] → [B, d]. L' < L for a layer of an architecture that joins tokens, such as
    Funnel: a joined token is real if one of its tokens is."""
    if states.shape[1] < mask.shape[1]:
        mask = torch.nn.functional.adaptive_max_pool1d(mask.float(), states.shape[1])
    weights = mask.to(states).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)
