"""The teachers' energies: how strongly each teacher's logits react to a text (ours: Alloy, Eqs. 2, 5).

    E_i(x) = (log Σ_c exp logit_i,c(x) − mean_i) / sd_i      mean_i, sd_i: over the pool                                         (2)
    ℓ_i(x) = log N(E_i; m_i, s_i) − log N(E_i; m'_i, s'_i)                                                                       (5)

A teacher that gives probabilities only has E_i from the log of its largest probability (methods/muka/logit_confidences.py). Where a teacher has
no answer to a text, ℓ_i is 0, and the text counts for none of its numbers.

m_i, s_i: over the texts whose label teacher i knows; m'_i, s'_i: over the others. A teacher that reacts to every text has a large m'_i too, so
ℓ_i does not depend on the scale of its logits or on its number of labels. The weights of Eq. 5 come from states and answers (Eq. 4), never from
the energies, so an energy cannot confirm itself. If an energy does not depend on what its teacher knows, ℓ_i is near 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

MIN_VARIANCE = 0.01  # of an energy's two Gaussians; over the pool its variance is 1


@dataclass(frozen=True)
class EnergyGaussians:
    """The two Gaussians of every teacher. [N] float64 each."""

    known_mean: Tensor
    known_deviation: Tensor
    unknown_mean: Tensor
    unknown_deviation: Tensor

    @classmethod
    def fit(cls, energies: Tensor, known: Tensor, counts: Tensor, answered: Tensor | None = None) -> EnergyGaussians:
        """energies [n, N]; known [n, N]: the probability that the teacher knows the text's label; counts [n]: how often each text counts;
        answered [n, N] bool: which energies count, all if None."""
        n = counts.unsqueeze(-1) if answered is None else counts.unsqueeze(-1) * answered
        return cls(*_gaussian(energies, n * known), *_gaussian(energies, n * (1 - known)))

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> EnergyGaussians:
        return cls(**{f.name: state[f.name].to(device) for f in fields(cls)})

    def log_ratios(self, energies: Tensor) -> Tensor:
        """ℓ of Eq. 5, [B, N]."""
        known = _log_normal(energies, self.known_mean, self.known_deviation)
        return known - _log_normal(energies, self.unknown_mean, self.unknown_deviation)

    def separation(self) -> Tensor:
        """The distance of the two means in standard deviations, [N]; 0 if the energy does not depend on what the teacher knows."""
        both = ((self.known_deviation.square() + self.unknown_deviation.square()) / 2).sqrt()
        return (self.known_mean - self.unknown_mean) / both


def _gaussian(energies: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    total = weights.sum(0).clamp(min=1e-6)
    mean = (weights * energies).sum(0) / total
    return mean, ((weights * (energies - mean).square()).sum(0) / total + MIN_VARIANCE).sqrt()


def _log_normal(x: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
    """The log density, without its constant."""
    return -0.5 * ((x - mean) / deviation).square() - deviation.log()
