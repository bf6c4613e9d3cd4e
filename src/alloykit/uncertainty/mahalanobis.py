"""Mahalanobis and relative Mahalanobis distances of representations (Ren et al. 2021; StrataNet Eqs. 2–4), in float64.

    Σ = (1/n) Σ_k Σ_{x∈k} (z − μ_k)(z − μ_k)ᵀ      MD_k(z) = (z − μ_k)ᵀ Σ⁻¹ (z − μ_k)      MD_0 likewise, with one mean μ_0 and Σ_0
    RMD(z) = min_k MD_k(z) − MD_0(z)

Covariances are shrunk towards a multiple of the identity by Ledoit and Wolf's share (ours; 0 switches it off).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.linear_model import LogisticRegression
from torch import Tensor

RIDGE = 1e-9  # of the mean variance: keeps a covariance of rank below its width invertible where nothing is shrunk


@dataclass(frozen=True)
class Gaussians:
    """Class means [K, d], one covariance for all classes, and one background Gaussian; covariances as Cholesky factors [d, d]."""

    means: Tensor
    factor: Tensor
    mean: Tensor
    background: Tensor

    @classmethod
    def fit(cls, states: Tensor, classes: Tensor, shrinkage: float | None = None, floor: float = 0.0) -> Gaussians:
        """states [n, d], classes [n] int64 (every value from 0 to K − 1 at least once). `shrinkage`: None for Ledoit and Wolf's;
        `floor`: variance that is added in every direction."""
        z = states.double()
        n, k = len(z), int(classes.max()) + 1
        sums = torch.zeros(k, z.shape[1], dtype=torch.float64).index_add_(0, classes, z)
        means = sums / torch.bincount(classes, minlength=k).unsqueeze(-1)
        mean = z.mean(0)
        within, around = z - means[classes], z - mean
        return cls(means, _factor(within, n, shrinkage, floor), mean, _factor(around, n, shrinkage, floor))

    def distances(self, states: Tensor) -> Tensor:
        """MD_k, [n, K] float64."""
        white = _whiten(self.factor, states)
        centres = _whiten(self.factor, self.means)
        return torch.stack([((white - centre) ** 2).sum(-1) for centre in centres], -1)

    def distance(self, states: Tensor) -> Tensor:
        """min_k MD_k, [n] float64."""
        return self.distances(states).amin(-1)

    def relative(self, states: Tensor) -> Tensor:
        """RMD, [n] float64: low for what looks like the texts that were fitted. Of a single class MD: its Gaussian is the background
        itself, so that the difference would be nothing but rounding (ours)."""
        if len(self.means) == 1:
            return self.distance(states)
        return self.distance(states) - self.to_background(states)

    def to_background(self, states: Tensor) -> Tensor:
        """MD_0, [n] float64."""
        white = _whiten(self.background, states.double() - self.mean)
        return (white**2).sum(-1)

    def state(self, prefix: str) -> dict[str, Tensor]:
        return {f"{prefix}.{name}": value for name, value in vars(self).items()}

    @classmethod
    def of(cls, state: Mapping[str, Tensor], prefix: str, device: torch.device) -> Gaussians:
        return cls(*(state[f"{prefix}.{name}"].to(device) for name in ("means", "factor", "mean", "background")))


def _factor(centred: Tensor, n: int, shrinkage: float | None, floor: float = 0.0) -> Tensor:
    covariance = centred.T @ centred / n
    share = ledoit_wolf_shrinkage(centred.numpy(), assume_centered=True) if shrinkage is None else shrinkage
    scale = covariance.diagonal().mean()
    eye = torch.eye(len(covariance), dtype=torch.float64)
    factor: Tensor = torch.linalg.cholesky((1 - share) * covariance + ((share + RIDGE) * scale + floor) * eye)
    return factor


def _whiten(factor: Tensor, states: Tensor) -> Tensor:
    """L⁻¹ z for every row. [n, d] → [n, d] float64"""
    white: Tensor = torch.linalg.solve_triangular(factor, states.double().T, upper=False).T
    return white


def logistic(scores: Tensor, own: Tensor) -> Tensor:
    """Slope and intercept, [2] float64, of P(own | score) = σ(slope · score + intercept), both groups weighing the same (ours).

    scores [n], own [n] bool. The slope is held finite where the groups do not overlap.
    """
    spread = scores.double().std().clamp(min=1e-12)
    x = ((scores.double() - scores.double().mean()) / spread).numpy()[:, None]
    model = LogisticRegression(C=100.0, class_weight="balanced", max_iter=1000).fit(x, own.numpy().astype(np.int64))
    slope = float(model.coef_[0, 0]) / float(spread)
    intercept = float(model.intercept_[0]) - slope * float(scores.double().mean())
    return torch.tensor([slope, intercept], dtype=torch.float64)
