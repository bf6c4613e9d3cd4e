"""The background of a mixture: texts with a label that no teacher knows (ours: Alloy, Eqs. 18, 19).

    b(x) = 0.9 σ((median − max_i E_i(x)) / 0.25)          median: of max_i E_i over the pool          at the start               (18)
    b(x) ∝ e⁻² π_0 N(z; μ_0, Σ_0)                         against (1 − π_0) times the labels of Eq. 6                            (19)

μ_0 and Σ_0 are the background's mean and covariance, each text counting b; Σ_0 is shrunk by three quarters towards a multiple of the identity, as Σ is.
π_0 = mean_x b(x). The labels are fitted with the weights r_c (1 − b). Eq. 6 gives log N(z; μ_c, Σ) up to what is equal for all labels, so both sides
are compared in full here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

START = 0.9  # the largest b at the start
START_WIDTH = 0.25  # in standard deviations of an energy
LOG_ODDS = -2.0  # a text is background only if that is e² times as likely
MIN_SHARE = 1e-6  # of the background


@dataclass(frozen=True)
class Background:
    """Fitted. center [D], spread [D, D] (Cholesky of Σ_0), log_share []: log π_0 − log(1 − π_0) − 2; all float64."""

    center: Tensor
    spread: Tensor
    log_share: Tensor

    @classmethod
    def fit(cls, z: Tensor, b: Tensor, shrinkage: float, least: float) -> Background:
        """z [n, D]; b [n]: how much of each text is background. least: the smallest mean variance."""
        total = b.sum().clamp(min=MIN_SHARE)
        center = (b @ z) / total
        apart = z - center
        within = (apart.T * b) @ apart / total
        size = within.diagonal().mean().clamp(min=least)
        covariance = (1 - shrinkage) * (within + within.T) / 2 + shrinkage * size * torch.eye(
            len(center), dtype=z.dtype
        )
        share = b.mean().clamp(MIN_SHARE, 1 - MIN_SHARE)
        return cls(center, torch.linalg.cholesky(covariance), share.log() - (1 - share).log() + LOG_ODDS)

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> Background | None:
        """None for a fit without a background."""
        names = [f.name for f in fields(cls)]
        return cls(**{n: state[f"background_{n}"].to(device) for n in names}) if "background_center" in state else None

    def state(self) -> dict[str, Tensor]:
        return {f"background_{name}": value for name, value in vars(self).items()}

    @property
    def share(self) -> Tensor:
        """π_0, []."""
        return torch.sigmoid(self.log_share - LOG_ODDS)

    def scores(self, z: Tensor) -> Tensor:
        """log(e⁻² π_0 / (1 − π_0) N(z; μ_0, Σ_0)), without (2π)^(−D/2). [B]"""
        return self.log_share + self.log_density(z)

    def log_density(self, z: Tensor) -> Tensor:
        """log N(z; μ_0, Σ_0), without (2π)^(−D/2). [B]"""
        white = torch.linalg.solve_triangular(self.spread, (z - self.center).T, upper=False)
        found: Tensor = -0.5 * white.square().sum(0) - self.spread.diagonal().log().sum()
        return found


def initial_background(energies: Tensor, answered: Tensor | None) -> Tensor:
    """Eq. 18, [n], over the teachers that have an answer. energies [n, N]; answered [n, N] bool, None: all."""
    largest = (energies if answered is None else energies.masked_fill(~answered, -math.inf)).amax(-1)
    return START * torch.sigmoid((largest.quantile(0.5) - largest) / START_WIDTH)
