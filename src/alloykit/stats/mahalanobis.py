"""Mahalanobis and relative Mahalanobis distances of representations (Ren et al. 2021; StrataNet Eqs. 2–4), in float64.

    Σ = (1/n) Σ_k Σ_{x∈k} (z − μ_k)(z − μ_k)ᵀ      MD_k(z) = (z − μ_k)ᵀ Σ⁻¹ (z − μ_k)      MD_0 likewise, with one mean μ_0 and Σ_0
    RMD(z) = min_k MD_k(z) − MD_0(z)

Covariances are shrunk towards a multiple of the identity by Ledoit and Wolf's share (ours; 0 switches it off). A background with texts of other
teachers is Σ_0 = W + B, the covariances within and between all classes. W is shrunk exactly as Σ is (ours): otherwise directions with almost
no variance, in which both distances are largest, would not cancel in RMD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

RIDGE = 1e-9  # of the mean variance: keeps a covariance of low rank invertible without shrinkage
LEAST = 1e-12  # the smallest mean variance: keeps a covariance of equal states invertible


@dataclass(frozen=True)
class Gaussians:
    """Class means [K, d], one covariance for all classes, and one background Gaussian. Covariances are Cholesky factors [d, d]."""

    means: Tensor
    factor: Tensor
    mean: Tensor
    background: Tensor

    @classmethod
    def fit(
        cls,
        states: Tensor,
        classes: Tensor,
        shrinkage: float | None = None,
        floor: float = 0.0,
        others: tuple[Tensor, Tensor] | None = None,
    ) -> Gaussians:
        """states [n, d], classes [n] int64 (every value from 0 to K − 1 at least once). `shrinkage`: None for Ledoit and Wolf's share.
        `floor`: variance that is added in every direction. `others`: further states [m, d] and classes [m] for the background only."""
        z = states.double()
        means, within = _groups(z, classes)
        if others is None:
            around = z - z.mean(0)
            background = _shrunk(around, around, shrinkage, floor)
        else:
            z = torch.cat([z, others[0].double()])
            inside = _groups(z, torch.cat([classes, others[1] + len(means)]))[1]
            between = z - inside - z.mean(0)
            background = _shrunk(inside, within, shrinkage, floor) + between.T @ between / len(z)
        shrunk = _shrunk(within, within, shrinkage, floor)
        return cls(means, torch.linalg.cholesky(shrunk), z.mean(0), torch.linalg.cholesky(background))

    def distances(self, states: Tensor) -> Tensor:
        """MD_k, [n, K] float64."""
        white = _whiten(self.factor, states)
        centres = _whiten(self.factor, self.means)
        return torch.stack([((white - centre) ** 2).sum(-1) for centre in centres], -1)

    def distance(self, states: Tensor) -> Tensor:
        """min_k MD_k, [n] float64."""
        return self.distances(states).amin(-1)

    def relative(self, states: Tensor) -> Tensor:
        """RMD, [n] float64: low for texts similar to the fitted ones. With a single class and no `others` both distances are equal,
        and RMD is 0 up to rounding."""
        return self.distance(states) - self.background_distance(states)

    def background_distance(self, states: Tensor) -> Tensor:
        """MD_0, [n] float64."""
        white = _whiten(self.background, states.double() - self.mean)
        return (white**2).sum(-1)

    def state(self, prefix: str) -> dict[str, Tensor]:
        return {f"{prefix}.{name}": value for name, value in vars(self).items()}

    @classmethod
    def of(cls, state: Mapping[str, Tensor], prefix: str, device: torch.device) -> Gaussians:
        return cls(*(state[f"{prefix}.{name}"].to(device) for name in ("means", "factor", "mean", "background")))


def _groups(z: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of every class, and the states [n, d] minus the mean of their class."""
    k = int(classes.max()) + 1
    sums = torch.zeros(k, z.shape[1], dtype=z.dtype).index_add_(0, classes, z)
    means = sums / torch.bincount(classes, minlength=k).unsqueeze(-1)
    return means, z - means[classes]


def _shrunk(centred: Tensor, reference: Tensor, shrinkage: float | None, floor: float) -> Tensor:
    """The covariance of `centred` [n, d], shrunk with the share and the multiple of the identity computed from `reference` [m, d]."""
    from sklearn.covariance import ledoit_wolf_shrinkage

    share = ledoit_wolf_shrinkage(reference.numpy(), assume_centered=True) if shrinkage is None else shrinkage
    scale = (reference**2).mean().clamp(min=LEAST)
    eye = torch.eye(centred.shape[1], dtype=torch.float64)
    covariance: Tensor = (1 - share) * (centred.T @ centred) / len(centred) + ((share + RIDGE) * scale + floor) * eye
    return covariance


def _whiten(factor: Tensor, states: Tensor) -> Tensor:
    """L⁻¹ z for every row. [n, d] → [n, d] float64"""
    white: Tensor = torch.linalg.solve_triangular(factor, states.double().T, upper=False).T
    return white


def fit_logistic(scores: Tensor, positive: Tensor) -> Tensor:
    """Slope and intercept, [2] float64, of P(positive | score) = σ(slope · score + intercept); both groups weigh the same (ours).

    scores [n], positive [n] bool. The slope stays finite if the groups do not overlap.
    """
    from sklearn.linear_model import LogisticRegression

    spread = scores.double().std().clamp(min=1e-12)
    x = ((scores.double() - scores.double().mean()) / spread).numpy()[:, None]
    model = LogisticRegression(C=100.0, class_weight="balanced", max_iter=1000).fit(
        x, positive.numpy().astype(np.int64)
    )
    slope = float(model.coef_[0, 0]) / float(spread)
    intercept = float(model.intercept_[0]) - slope * float(scores.double().mean())
    return torch.tensor([slope, intercept], dtype=torch.float64)
