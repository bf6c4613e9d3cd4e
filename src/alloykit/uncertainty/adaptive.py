"""How many Monte-Carlo passes a text needs: few where the teachers' order is clear, more where it is not (ours).

The entropy of a mean over K passes is too low by about (1/2K) Σ_y Var(p_y) / p̄_y, so that few passes favour the noisy
teacher. Decisions are therefore made on the jackknifed entropy, and stop when its standard error can no longer change them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from scipy import stats
from torch import Tensor

from alloykit.uncertainty.entropy import entropy

ROUNDS = (4, 8, 16)
"""Passes that a text has had after each round; after the last one it is settled whatever came out."""


def jackknifed_entropy(p: Tensor) -> Tensor:
    """K u(p̄) − (K − 1)/K Σ_k u(p̄ without pass k), over log C_i, within [0, 1]. [K, ..., C_i] → [...] in float64."""
    k, p = len(p), p.double()
    total = p.sum(0)
    left_out = entropy((total - p) / (k - 1)).mean(0)
    u = k * entropy(total / k) - (k - 1) * left_out
    return (u / math.log(p.shape[-1])).clamp(0, 1)


def standard_error(p: Tensor, floor: float = 0.0) -> Tensor:
    """Of the normalised entropy: sd_k(g_k) / (√K log C_i) with g_k = −Σ_y p_k(y) log p̄(y), at least `floor`. [...] float64."""
    p = p.double()
    g = -(p * p.mean(0).clamp(min=1e-300).log()).sum(-1)
    return (g.std(0) / (math.sqrt(len(p)) * math.log(p.shape[-1]))).clamp(min=floor)


@dataclass(frozen=True)
class Rule:
    """When a text's passes suffice. c: [B, N] confidences 1 − u; se: [B, N] their standard errors; K: passes so far.

    hard: the leader is clear, or so close to its rival that it does not matter. soft: neither the teachers' weights nor
    the margin v can be off by more than `tolerance`.
    """

    mode: Literal["hard", "soft"]
    temperature: float = 0.2
    """τ of Eq. 12, soft only."""
    error_rate: float = 0.01
    """α: how often a hard decision of all rounds and rivals together may be the wrong one."""
    tolerance: float = 0.02
    floor: float = 0.002
    """Least standard error: four equal passes do not make certainty."""

    def settled(self, c: Tensor, se: Tensor, k: int) -> Tensor:
        """[B] bool."""
        if c.shape[-1] == 1:
            return torch.ones(len(c), dtype=torch.bool)
        return self._hard(c, se, k) if self.mode == "hard" else self._soft(c, se)

    def _hard(self, c: Tensor, se: Tensor, k: int) -> Tensor:
        rivals = c.shape[-1] - 1
        t = float(stats.t.ppf(1 - self.error_rate / (len(ROUNDS) * rivals), k - 1))
        leader = c.argmax(-1, keepdim=True)
        gap = c.gather(-1, leader) - c
        spread = t * (se.gather(-1, leader) ** 2 + se**2).sqrt()
        fine = (gap > spread) | (gap + spread <= self.tolerance)
        return fine.scatter(-1, leader, True).all(-1)

    def _soft(self, c: Tensor, se: Tensor) -> Tensor:
        w = torch.softmax(c / self.temperature, -1)
        jacobian = (torch.diag_embed(w) - w.unsqueeze(-1) * w.unsqueeze(-2)) / self.temperature
        weights_off = 1.96 * (jacobian.abs() * se.unsqueeze(-2)).sum(-1).amax(-1)
        two = c.topk(2, -1).indices
        margin_off = se.gather(-1, two).square().sum(-1).sqrt()
        return (weights_off <= self.tolerance) & (margin_off <= self.tolerance)
