"""Two-fold cross-fitting: how confident the mixture may be, and whether its labels are stable (ours: Alloy, Eqs. 7, 10).

r′(x): by the mixture that was fitted to the half of the pool without x. c*(x): the label, or the background, that the mixture of all texts
finds most likely.

    α = argmax_{0.02 ≤ α ≤ 1} mean_x log r′_{c*(x)}(x)                                                                       (7)
    agreement = mean_x of [argmax_c r_c(x) = argmax_c r′_c(x)], weighted by 1 − r_0(x)                                       (10)

In D dimensions a mixture is nearly certain of everything, and wrong as often as its assumptions are. Eq. 7 tempers its posteriors until they are
as confident as the two halves agree.
"""

from __future__ import annotations

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from alloykit.methods.alloy.mixture import LabelMixture

SMALLEST = 0.02  # α


def cross_fit(z: Tensor, answers: Tensor, owners: Tensor, evidence: Tensor) -> Tensor:
    """`LabelMixture.scores` of every text by the mixture that was fitted to the other half of them. [n, C + 1]"""
    half = torch.arange(len(z)) % 2 == 0
    scores = torch.empty(len(z), answers.shape[-1] + 1, dtype=z.dtype)
    for one, other in ((half, ~half), (~half, half)):
        part = LabelMixture.fit(z[one], answers[one], owners, evidence[one])
        scores[other] = part.scores(z[other], answers[other])
    return scores


def fit_inverse_temperature(scores: Tensor, cross_fitted: Tensor) -> Tensor:
    """α of Eq. 7, []. Both [n, C + 1]: by the mixture of all texts, and by that of the other half."""
    most_likely = scores.argmax(-1)

    def loss(alpha: float) -> float:  # convex
        return float(torch.nn.functional.cross_entropy(alpha * cross_fitted, most_likely))

    found = minimize_scalar(loss, bounds=(SMALLEST, 1.0), method="bounded", options={"xatol": 1e-4})
    return torch.tensor(float(found.x), dtype=scores.dtype)


def label_agreement(scores: Tensor, cross_fitted: Tensor, r0: Tensor) -> float:
    """Eq. 10, from the labels alone. Both [n, C + 1], r_0 [n]; 0 where every text is in the background."""
    same = (scores[:, :-1].argmax(-1) == cross_fitted[:, :-1].argmax(-1)).double()
    return float(((1 - r0) * same).sum() / (1 - r0).sum().clamp(min=1e-9))
