"""From responsibilities over labels to teachers' weights, and the margin of the largest (ours: Alloy, Eqs. 7, 8).

    γ_i(x) = Σ_{c ∈ Y_i} r_c / teachers that know c                                                                              (7)
    k_i(x) = Σ_{c ∈ Y_i} r_c         the probability that teacher i knows x's label; i* the largest
    margin(x) = k_{i*} − max_j Σ_{c ∈ Y_j \\ Y_{i*}} r_c                                                                          (8)

With disjoint label sets k is γ, and the margin is γ_(1) − γ_(2). If several teachers share a label, it counts for each of them.
Everywhere r [B, C] is float64 and owners [N, C] is bool: whether teacher i has label c.
"""

from __future__ import annotations

from torch import Tensor


def teacher_weights(r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """γ of Eq. 7, over the teachers that have an answer (answered [B, N] bool; None: all). [B, N]"""
    held = owners.double()
    if answered is None:
        return (r / held.sum(0)) @ held.T
    has = answered.double()
    return has * ((r / (has @ held).clamp(min=1)) @ held.T)


def shares(r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """The share of the texts that goes to each of N teachers. [N]"""
    return teacher_weights(r, owners, answered).mean(0)


def knows_label(r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """k, [B, N] float64; 0 for a teacher without an answer (answered [B, N] bool; None: all have one)."""
    k = r @ owners.double().T
    return k if answered is None else k * answered


def routing_margin(r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """Eq. 8, [B] float64, over the teachers that have an answer (as in `knows_label`)."""
    k = knows_label(r, owners, answered)
    best = k.argmax(-1)
    others = knows_label(r * ~owners[best], owners, answered)
    return (k.gather(1, best.unsqueeze(1)).squeeze(1) - others.amax(-1)).clamp(min=0)
