"""From responsibilities over labels to teachers: whose texts these are, and by what margin (ours: Alloy, Eqs. 5, 8).

    γ_i(x) = Σ_{c ∈ Y_i} r_c / (owners of c · (1 − r_0))                                                                   (5)
    k_i(x) = Σ_{c ∈ Y_i} r_c / (1 − r_0)         the probability that teacher i knows x's label; i* the largest
    margin(x) = k_{i*} − max_j Σ_{c ∈ Y_j \\ Y_{i*}} r_c / (1 − r_0)                                                         (8)

With disjoint label sets k is γ, and the margin is γ_(1) − γ_(2). A label that several teachers share counts for each of them, and against none.
Everywhere r [B, C] and r0 [B] are float64 and owners [N, C] is bool: whether teacher i has label c.
"""

from __future__ import annotations

import torch
from torch import Tensor


def teacher_weights(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """γ of Eq. 5; equal weights for a text that is certainly in the background. [B, N]"""
    held = owners.double()
    each = (r / held.sum(0)) @ held.T
    known = (1 - r0).unsqueeze(-1)
    n = each.shape[-1]
    return torch.where(known > 1e-9, each / each.sum(-1, keepdim=True).clamp(min=1e-300), torch.full_like(each, 1 / n))


def shares(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """The share of the texts that goes to each of N teachers, and to the background. [N + 1]"""
    held = owners.double()
    each = ((r / held.sum(0)) @ held.T).mean(0)
    return torch.cat([each / each.sum() * (1 - r0.mean()), r0.mean().unsqueeze(0)])


def knows_label(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """k, [B, N] float64."""
    return (r @ owners.double().T) / (1 - r0).clamp(min=1e-9).unsqueeze(-1)


def margin(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """Eq. 8, [B] float64."""
    k, held = knows_label(r, r0, owners), owners.double()
    best = k.argmax(-1)
    others = (r * (1 - held[best])) @ held.T / (1 - r0).clamp(min=1e-9).unsqueeze(-1)
    return (k.gather(1, best.unsqueeze(1)).squeeze(1) - others.amax(-1)).clamp(min=0)
