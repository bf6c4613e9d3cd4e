"""The margin of the most confident teacher over those that disagree with it (MUKA, Eq. 15)."""

from __future__ import annotations

import torch
from torch import Tensor


def margin(confidence: Tensor, top_class: Tensor) -> Tensor:
    """v = c_{i*} − max{c_j : teacher j's top class ≠ teacher i*'s}; v = c_{i*} if no teacher disagrees. → [B].

    confidence [B, N]; top_class [B, N] int64, each teacher's best class as a position in the union.
    For disjoint label sets every other teacher disagrees, and this is Eq. 15, c_max − c_second. A teacher that agrees on a
    shared class does not lower the margin (ours). With a single teacher, v = 1 (ours).
    """
    if confidence.shape[-1] == 1:
        return torch.ones_like(confidence[..., 0])
    best, leader = confidence.max(-1)
    leading_class = top_class.gather(-1, leader.unsqueeze(-1))
    rivals = confidence.masked_fill(top_class == leading_class, 0.0)
    return best - rivals.max(-1).values
