"""Whether a fitted mixture is accepted (ours: Alloy, Eqs. 9, 10).

    t_i: Welch's t of teacher i's confidence, on the texts assigned to it against the texts assigned to other teachers       (9)

Accepted is a fit where each teacher has texts, no teacher is significantly more confident on the others' texts, all teachers together are
significantly more confident on their own, and two fits, each on half of the pool, agree on enough labels (Eq. 10, methods/alloy/cross_fit.py).
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy.stats import ttest_ind
from torch import Tensor

ACCEPTED, TOO_FEW, REJECTED = 0, 1, 2  # outcomes of a fit
SIGNIFICANT = 1.64  # standard errors: chance alone exceeds this once in twenty times
AGREEMENT = 2 / 3  # of the texts that a teacher knows, at least
LARGEST_T = 1e9  # where confidences do not vary at all


def welch_t(c: Tensor, own: Tensor, rest: Tensor, fewest: int) -> Tensor:
    """Eq. 9 for every teacher, [N] float64. c [n, N]: confidences; own, rest [n, N] bool: the texts that are compared.

    NaN where there is no rest to compare with; −∞ where there are fewer own texts than `fewest`.
    """
    found = []
    for confidence, mine, others in zip(c.T, own.T, rest.T, strict=True):
        inside, outside = confidence[mine].numpy(), confidence[others].numpy()
        if len(outside) < 2:
            found.append(np.nan)
        elif len(inside) < max(2, fewest):
            found.append(-np.inf)
        elif inside.var() == outside.var() == 0:
            found.append(float(np.sign(inside[0] - outside[0])) * LARGEST_T)
        else:
            with warnings.catch_warnings():  # confidences that hardly vary lose precision, as they should
                warnings.simplefilter("ignore", RuntimeWarning)
                found.append(float(ttest_ind(inside, outside, equal_var=False).statistic))
    return torch.tensor(found, dtype=torch.float64)


def accepted_by_confidence(t_by_teacher: Tensor) -> bool:
    """Of Eq. 9, [N]: no t below −1.64, and Σ_i t_i / √N > 1.64. Teachers without a comparison (NaN) do not count; if none has one: False."""
    compared = t_by_teacher[~t_by_teacher.isnan()]
    if not len(compared) or bool((compared <= -SIGNIFICANT).any()):
        return False
    return bool(compared.sum() > SIGNIFICANT * len(compared) ** 0.5)


def accepted(t_by_teacher: Tensor, agreement: float) -> bool:
    """Whether the mixture is used."""
    return accepted_by_confidence(t_by_teacher) and agreement >= AGREEMENT
