"""Confidence from the size of the logits, standardised per teacher over the pool (ours).

    energy       e_i(x) = log Σ_c exp z_i,c(x)
    max_logit    e_i(x) = max_c z_i,c(x)

Of a teacher with labels of `labels: {catch_all: …}`, the same score of these labels alone is subtracted from that of its other labels. With energies this is
the log-odds that one of its other labels fits.

    c_i(x) = Φ((e_i(x) − mean_i) / sd_i)          mean_i, sd_i: over the pool, or 100,000 texts of it; Φ: the distribution function of the standard normal

So teachers are comparable for any scale of their logits and any number of labels. The logits are those of the pass without dropout. A teacher that gives
only probabilities has log-probabilities in the place of logits, whose log-sum-exp is 0: for it e_i(x) = max_c log p_i(c | x) in both forms.
mean_i and sd_i are over the texts that teacher i has an answer to, whether or not it abstains from them.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from alloykit.methods.protocol import Context
from alloykit.outputs import FITTED_TO, Rows, Source, chunks, sample

LogitScore = Literal["energy", "max_logit"]
NO_SPREAD = 1e-9  # a teacher whose logits do not differ between texts has confidence ½ for all


def fit_logit_confidences(pool: Source, context: Context, score: LogitScore) -> dict[str, Tensor]:
    """Every teacher's mean and standard deviation over the pool, or over a sample of a large one, "logit_mean" and "logit_deviation". [N] float64
    each"""
    e = torch.cat([only_answered(logit_scores(rows, context, score), rows) for rows in chunks(sample(pool, FITTED_TO))])
    if not bool(e.isnan().any()):
        mean, deviation = e.mean(0), e.std(0, correction=0)
    else:
        columns = [answered_part(column) for column in e.T]
        mean = torch.stack([c.mean() for c in columns])
        deviation = torch.stack([c.std(correction=0) for c in columns])
    return {"logit_mean": mean, "logit_deviation": torch.where(deviation > NO_SPREAD, deviation, 1.0)}


def logit_confidences(rows: Rows, context: Context, score: LogitScore) -> Tensor:
    """c_i, [B, N] float64, from 0 to 1."""
    e, state = logit_scores(rows, context, score), context.state
    c: Tensor = torch.special.ndtr((e - state["logit_mean"].to(e.device)) / state["logit_deviation"].to(e.device))
    return c


def logit_scores(rows: Rows, context: Context, score: LogitScore) -> Tensor:
    """e_i, [B, N] float64."""
    found = []
    for i, (teacher, labels) in enumerate(zip(rows.teachers, context.space.teachers, strict=True)):
        z, none_of_others = teacher.logits.double(), [name in context.space.catch_all for name in labels]
        of = Tensor.logsumexp if score == "energy" and (context.gives_logits(i) or any(none_of_others)) else Tensor.amax
        if any(none_of_others):
            rest = torch.tensor(none_of_others, device=z.device)
            found.append(of(z[:, ~rest], -1) - of(z[:, rest], -1))
        else:
            found.append(of(z, -1))
    return torch.stack(found, -1)


def only_answered(values: Tensor, rows: Rows) -> Tensor:
    """The same, with NaN where a teacher has no answer to a text. [B, N]"""
    answered = rows.answered()
    return values if answered is None else values.masked_fill(~answered, torch.nan)


def answered_part(values: Tensor) -> Tensor:
    """The numbers that are not NaN; a single 0 if there are none. [n]"""
    kept = values[~values.isnan()]
    return kept if len(kept) else values.new_zeros(1)
