"""The start of the mixture's fit: from the teachers' confidences alone (ours: Alloy, Eq. 6).

    γ_i = softmax(e / sd)_i          r_0 = 0.9 σ((t − max_i e_i) / ¼), t the pool's median of max_i e_i                    (6)

e_i: the confidence of teacher i, half-standardised over the pool.
"""

from __future__ import annotations

import torch
from torch import Tensor

BACKGROUND_AT_START = 0.5  # the share of the pool, the less confident texts, that starts in the background


def half_standardised(c: Tensor, pool: Tensor) -> Tensor:
    """e = ½ [(c_i − mean_i) / sd_i + (c_i − mean) / sd], means and deviations over the pool, of one teacher and of all.

    Fully standardised, it would hide that one teacher knows more of the pool than another; not standardised, the most confident teacher
    would get every text. c [B, N], pool [n, N] → [B, N].
    """
    own = (c - pool.mean(0)) / _deviation(pool.std(0))
    return 0.5 * (own + (c - pool.mean()) / _deviation(pool.std()))


def initial_weights(evidence: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 6 for the pool itself: γ [n, N] and r_0 [n]. evidence: e, [n, N]."""
    centred = evidence - evidence.mean(-1, keepdim=True)
    best = evidence.amax(-1)
    r0 = 0.9 * torch.sigmoid((best.quantile(BACKGROUND_AT_START) - best) / 0.25)
    return torch.softmax(evidence / _deviation(centred.std()), -1), r0


def initial_responsibilities(answers: Tensor, owners: Tensor, evidence: Tensor) -> tuple[Tensor, Tensor]:
    """r [n, C], not normalised, and r_0 [n] before the first iteration. answers [n, C]: log a; owners [N, C] bool."""
    gamma, r0 = initial_weights(evidence)
    return answers.exp() * (gamma @ owners.double()) * (1 - r0).unsqueeze(-1), r0


def _deviation(deviation: Tensor) -> Tensor:
    return torch.where(deviation > 1e-9, deviation, torch.ones_like(deviation))
