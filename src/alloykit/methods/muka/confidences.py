"""The confidence of every teacher: Eq. 13, and five forms that are comparable between teachers with different numbers of labels (ours).

entropy      c_i = 1 − u_i / log C_i from p̄_i, the mean over the passes (Eqs. 7–9, 13); without passes from p_i
percentile   the share of the pool on which the teacher is less confident (stats/calibration.py)
mixture      the probability that the teacher knows the text, from two Gaussians on logit(c) over the pool (stats/calibration.py)
density      from the teachers' early states (methods/muka/density.py)
energy, max_logit    from the size of the logits (methods/muka/logit_confidences.py)
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.methods.early_states import MAX_TEXTS
from alloykit.methods.muka.density import densities, fit_densities
from alloykit.methods.muka.logit_confidences import (
    answered_part,
    fit_logit_confidences,
    logit_confidences,
    only_answered,
)
from alloykit.methods.muka.options import MukaOptions
from alloykit.methods.protocol import Context
from alloykit.outputs import FITTED_TO, Rows, Source, chunks, sample
from alloykit.stats import calibration
from alloykit.stats.entropy import confidence


def fit_confidences(pool: Source, context: Context, options: MukaOptions) -> dict[str, Tensor]:
    """What `confidences` needs from the pool."""
    kind = options.confidence
    if kind == "entropy":
        return {}
    if kind == "density":
        return fit_densities(sample(pool, MAX_TEXTS))
    if kind == "energy" or kind == "max_logit":
        return fit_logit_confidences(pool, context, kind)
    seen = sample(pool, FITTED_TO)
    c = torch.cat([only_answered(entropy_confidences(rows, options.passes), rows) for rows in chunks(seen)])
    fit = calibration.fit_percentile if kind == "percentile" else calibration.fit_mixture
    return {f"{kind}.{i}": fit(answered_part(c[:, i])) for i in range(c.shape[1])}


def confidences(rows: Rows, context: Context, options: MukaOptions) -> Tensor:
    """c_i, [B, N] float64, from 0 to 1."""
    kind = options.confidence
    if kind == "density":
        return densities(rows, context.state)
    if kind == "energy" or kind == "max_logit":
        return logit_confidences(rows, context, kind)
    c = entropy_confidences(rows, options.passes)
    if kind == "entropy":
        return c
    calibrate = calibration.percentile_confidence if kind == "percentile" else calibration.mixture_confidence
    fitted = [context.state[f"{kind}.{i}"].to(c.device) for i in range(c.shape[1])]
    return torch.stack([calibrate(c[:, i], fitted[i]) for i in range(c.shape[1])], dim=-1)


def entropy_confidences(rows: Rows, passes: int) -> Tensor:
    """c_i of Eq. 13, [B, N] float64. AlloyError if passes are wanted and the rows have none."""
    if passes and any(teacher.probability_sum is None for teacher in rows.teachers):
        raise AlloyError(
            expected=f"{passes} Monte-Carlo passes per text",
            got="teachers' outputs without passes",
            hint="Run the sweep with this recipe, or set `passes: 0`.",
        )
    return torch.stack([confidence(t.mean_probabilities() if passes else t.probabilities()) for t in rows.teachers], -1)
