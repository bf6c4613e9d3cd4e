"""What two halves of a pool make of each other: how sure the mixture may be, and whether it holds at all (ours: Alloy, Eqs. 7, 10).

r′(x): by the mixture that was fitted to the half in which x is not. c*(x): the label, or nobody, that the mixture of all texts names.

    α = argmax_{0.02 ≤ α ≤ 1} mean_x log r′_{c*(x)}(x)                                                                       (7)
    agreed = mean_x of [argmax_c r_c(x) = argmax_c r′_c(x)], weighted by 1 − r_0(x)                                         (10)

In D dimensions a mixture is nearly certain of everything, and wrong as often as its assumptions are. With Eq. 7 it is as sure of a text as
mixtures of other texts bear it out.
"""

from __future__ import annotations

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from alloykit.methods.alloy.mixture import Ownership

LEAST = 0.02


def crossed(z: Tensor, answers: Tensor, owners: Tensor, evidence: Tensor) -> Tensor:
    """`Ownership.scores` of every text by the mixture that was fitted to the other half of them. [n, C + 1]"""
    half = torch.arange(len(z)) % 2 == 0
    found = torch.empty(len(z), answers.shape[-1] + 1, dtype=z.dtype)
    for one, other in ((half, ~half), (~half, half)):
        part = Ownership.fit(z[one], answers[one], owners, evidence[one])
        found[other] = part.scores(z[other], answers[other])
    return found


def exponent(scores: Tensor, other: Tensor) -> Tensor:
    """α of Eq. 7, []. Both [n, C + 1]: by the mixture of all texts, and by that of the other half."""
    named = scores.argmax(-1)

    def surprise(alpha: float) -> float:  # convex
        return float(torch.nn.functional.cross_entropy(alpha * other, named))

    found = minimize_scalar(surprise, bounds=(LEAST, 1.0), method="bounded", options={"xatol": 1e-4})
    return torch.tensor(float(found.x), dtype=scores.dtype)


def agreement(scores: Tensor, other: Tensor, r0: Tensor) -> float:
    """Eq. 10: of the labels alone, [n, C + 1] both, and of the texts that somebody knows, r_0 [n]; 0 where there are none."""
    same = (scores[:, :-1].argmax(-1) == other[:, :-1].argmax(-1)).double()
    return float(((1 - r0) * same).sum() / (1 - r0).sum().clamp(min=1e-9))
