"""How much a text counts for the student, by what the energies say of its teacher (ours: Alloy, Eqs. 28, 29).

    ε_c(x) = Σ_{i knows c} [E_i(x) − (m_i + m'_i) / 2]          over the teachers with an answer to x
    e(x) = ε_{c*}(x) − max_{c ∉ Y_{i*}} ε_c(x)          c*: the most likely label of teacher i*; c: labels of teachers with an answer     (28)
    f(x) = log(1 + exp(τ e(x))) / its mean over the pool          τ = Σ_i γ̄_i (m_i − m'_i) / ((s_i² + s'_i²) / 2)                 (29)

m, s, m', s': the two Gaussians of each teacher's energies (methods/alloy/energies.py, Eq. 5); γ̄_i: the teacher's share of the pool, the mean of Eq. 7.
Eq. 29 is used if the two means are at least two standard deviations apart, on average over the teachers, weighted by γ̄ (a teacher with hardly any text
in the pool has no sure Gaussians). Otherwise f is 1.

Two Gaussians of the same width give a teacher the log-odds τ (E − (m + m') / 2) of knowing the text. So f grows with the log-odds that i* knows it and
the others do not, and a text whose energies contradict the mixture hardly counts. Probably a student learns the errors
of the states, because the texts that they route wrongly are similar to each other. Where energies say little, f would only make the pool smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.energies import EnergyGaussians
from alloykit.methods.alloy.routing import knows_label, shares

CLEAR = 2.0  # standard deviations between the two means


@dataclass(frozen=True)
class EnergyWeights:
    """Fitted to a pool. slope []: τ, mean []: of the numerator of Eq. 29; middle [N]: (m + m') / 2; all float64."""

    slope: Tensor
    mean: Tensor
    middle: Tensor

    @classmethod
    def fit(
        cls, fitted: EnergyGaussians, energies: Tensor, r: Tensor, owners: Tensor, answered: Tensor | None = None
    ) -> EnergyWeights | None:
        """None where f is 1. energies [n, N]; r [n, C]; owners [N, C] bool; answered [n, N] bool: which energies there are, all if None."""
        of_teachers = shares(r, owners, answered)
        if float(mean_separation(fitted, of_teachers)) < CLEAR:
            return None
        middle = (fitted.known_mean + fitted.unknown_mean) / 2
        variance = (fitted.known_deviation.square() + fitted.unknown_deviation.square()) / 2
        slope = of_teachers @ ((fitted.known_mean - fitted.unknown_mean) / variance)
        whole = cls(slope, torch.ones_like(slope), middle)
        return cls(slope, whole(energies, r, owners, answered).mean(), middle)

    def __call__(self, energies: Tensor, r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
        """f, [B]. Arguments as in `fit`."""
        difference = evidence(energies - self.middle, r, owners, answered)
        return torch.nn.functional.softplus(self.slope * difference) / self.mean

    def state(self) -> dict[str, Tensor]:
        return {f"energy_weights_{name}": value for name, value in vars(self).items()}

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> EnergyWeights | None:
        """None where f is 1."""
        if "energy_weights_slope" not in state:
            return None
        return cls(*(state[f"energy_weights_{name}"].to(device) for name in ("slope", "mean", "middle")))


def mean_separation(fitted: EnergyGaussians, of_teachers: Tensor) -> Tensor:
    """In standard deviations, []. of_teachers [N]: γ̄"""
    return of_teachers @ fitted.separation()


def evidence(energies: Tensor, r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """e of Eq. 28, [B]. energies [B, N]: without (m + m') / 2. If i* knows every label that a teacher with an answer knows, 0 takes
    the place of the largest ε of the others."""
    used = energies if answered is None else energies * answered
    of_labels = used @ owners.double()
    own = owners[knows_label(r, owners, answered).argmax(-1)]
    best = r.masked_fill(~own, -1).argmax(-1, keepdim=True)
    known = torch.ones_like(own) if answered is None else (answered.double() @ owners.double()) > 0
    others = ~own & known
    largest = of_labels.masked_fill(~others, -torch.inf).amax(-1)
    return of_labels.gather(1, best).squeeze(1) - torch.where(others.any(-1), largest, 0)
