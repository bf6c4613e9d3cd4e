"""Entropy and confidence of one teacher (MUKA, Eqs. 9 and 13)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def entropy(probabilities: Tensor) -> Tensor:
    """u = − Σ_y p(y) log p(y) in nats (Eq. 9). [..., C_i] → [...] in float64."""
    p = probabilities.double()
    return -torch.xlogy(p, p).sum(-1)


def confidence(probabilities: Tensor) -> Tensor:
    """c = 1 − u / log C_i, from 0 (uniform) to 1 (certain) (Eq. 13). [..., C_i] with C_i ≥ 2 → [...] in float64."""
    c = 1 - entropy(probabilities) / math.log(probabilities.shape[-1])
    return c.clamp(min=0)  # of the uniform distribution it can be a rounding error below 0
