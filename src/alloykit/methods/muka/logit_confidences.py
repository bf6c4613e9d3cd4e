"""Confidence from the size of the logits, standardised per teacher over the pool (ours).

    energy       e_i(x) = log Σ_c exp z_i,c(x)
    max_logit    e_i(x) = max_c z_i,c(x)

    c_i(x) = Φ((e_i(x) − mean_i) / sd_i)          mean_i, sd_i: over the pool; Φ: the distribution function of the standard normal

So teachers are comparable for any scale of their logits and any number of labels. The logits are those of the pass without dropout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from alloykit.outputs import Rows, Source, chunks

LogitScore = Literal["energy", "max_logit"]
NO_SPREAD = 1e-9  # a teacher whose logits do not differ between texts has confidence ½ for all


def fit_logit_confidences(pool: Source, score: LogitScore) -> dict[str, Tensor]:
    """Every teacher's mean and standard deviation over the pool, "logit_mean" and "logit_deviation". [N] float64 each"""
    e = torch.cat([_scores(rows, score) for rows in chunks(pool)])
    deviation = e.std(0, correction=0)
    return {"logit_mean": e.mean(0), "logit_deviation": torch.where(deviation > NO_SPREAD, deviation, 1.0)}


def logit_confidences(rows: Rows, state: Mapping[str, Tensor], score: LogitScore) -> Tensor:
    """c_i, [B, N] float64, from 0 to 1."""
    e = _scores(rows, score)
    c: Tensor = torch.special.ndtr((e - state["logit_mean"].to(e.device)) / state["logit_deviation"].to(e.device))
    return c


def _scores(rows: Rows, score: LogitScore) -> Tensor:
    """e_i, [B, N] float64."""
    logits = [t.logits.double() for t in rows.teachers]
    return torch.stack([z.logsumexp(-1) if score == "energy" else z.amax(-1) for z in logits], -1)
