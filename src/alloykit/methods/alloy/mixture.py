"""A mixture over the labels of all teachers, fitted to an unlabelled pool by expectation–maximisation (ours: Alloy, Eqs. 2–4).

z(x): the first D principal components of all teachers' early states (methods/early_states.py), each of variance one over the pool. Every
label c of the union is a Gaussian with its own mean; the background 0, for texts that no teacher knows, is one more, as wide as they are:

    r_c(x) ∝ [(1 − ρ) π̃_c N(z; μ_c, Σ) a_c(x)]^α       r_0(x) ∝ [ρ e^{−2} N(z; μ_0, Σ_0)]^α       Σ_c r_c + r_0 = 1        (2)
    a_c(x) = ∏_{i knows c} p̃_i(c | x)^{1 / owners of c}          π̃_c ∝ √π_c                                                 (3)
    μ, Σ, π, ρ: means, covariances and shares of the texts under r                                                         (4)

A teacher's answer a_c says which of its own labels a text would have. Only the states, in which all texts of a label lie together, say
whether the text has one of them. The confidences enter once, at the start (methods/alloy/initial.py).

α is 1 during the fit; afterwards two-fold cross-fitting sets it (methods/alloy/cross_fit.py, Eq. 7).

√π keeps the labels of a small teacher from losing their texts, and e^{−2} keeps a text out of the background unless its states clearly belong there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from alloykit.methods.alloy.initial import initial_responsibilities
from alloykit.methods.alloy.routing import shares

ITERATIONS = 20
SHRINKAGE = 0.1  # of both covariances, towards the identity, which is the whole pool's
BACKGROUND_PENALTY = 2.0  # nats
TEXTS_PER_DIMENSION = 8
SMALLEST = 1e-4  # a component's deviation, relative to the largest one's: below is rounding


@dataclass(frozen=True)
class Whitening:
    """Principal components of the pool. `shift`, `scale`: [d]; `directions`: [d, D]; all float64."""

    shift: Tensor
    scale: Tensor
    directions: Tensor

    @classmethod
    def fit(cls, states: Tensor, dimensions: int) -> Whitening:
        """states [n, d]. As many components as `dimensions`, but at most one for every eight texts."""
        shift, scale = states.mean(0), states.std(0).clamp(min=1e-6)
        n = max(1, min(dimensions, len(states) // TEXTS_PER_DIMENSION, *(s - 1 for s in states.shape)))
        found = PCA(n, svd_solver="arpack", random_state=0).fit(((states - shift) / scale).numpy())
        large = found.singular_values_ > SMALLEST * found.singular_values_.max()
        deviation = torch.from_numpy(found.singular_values_[large]) / math.sqrt(len(states))
        return cls(shift, scale, torch.from_numpy(np.ascontiguousarray(found.components_[large].T)) / deviation)

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> Whitening:
        return cls(**{f.name: state[f.name].to(device) for f in fields(cls)})

    def __call__(self, states: Tensor) -> Tensor:
        """[B, d] → [B, D] float64."""
        return ((states - self.shift) / self.scale) @ self.directions


@dataclass(frozen=True)
class LabelMixture:
    """Eq. 2, fitted. All float64.

    means [C, D], factor [D, D] (Cholesky of Σ), log_prior [C]: log (1 − ρ) π̃. background_mean [D], background_factor [D, D],
    background_log_prior []: log ρ − 2. history [iterations + 1, N + 1]: the share of each teacher and of the background, at the start and
    after every iteration. inverse_temperature []: α; 1 during the fit.
    """

    means: Tensor
    factor: Tensor
    log_prior: Tensor
    background_mean: Tensor
    background_factor: Tensor
    background_log_prior: Tensor
    history: Tensor
    inverse_temperature: Tensor

    @classmethod
    def fit(cls, z: Tensor, answers: Tensor, owners: Tensor, evidence: Tensor) -> LabelMixture:
        """z [n, D]; answers [n, C]: log a; owners [N, C] bool; evidence [n, N]: e of Eq. 6."""
        r, r0 = initial_responsibilities(answers, owners, evidence)
        history = [shares(r, r0, owners)]
        for _ in range(ITERATIONS):
            fitted = cls._maximised(z, r, r0, torch.stack(history))
            r, r0 = fitted.responsibilities(z, answers)
            history.append(shares(r, r0, owners))
        return cls._maximised(z, r, r0, torch.stack(history))

    @classmethod
    def _maximised(cls, z: Tensor, r: Tensor, r0: Tensor, history: Tensor) -> LabelMixture:
        """Eq. 4."""
        count = r.sum(0).clamp(min=1e-6)
        means = (r.T @ z) / count.unsqueeze(-1)
        within = (z.T @ (z * r.sum(1, keepdim=True)) - (means * count.unsqueeze(-1)).T @ means) / count.sum()
        background = r0.clamp(min=1e-9)
        background_mean = background @ z / background.sum()
        centred = z - background_mean
        rho = background.mean().clamp(max=1 - 1e-6)
        root = (count / count.sum()).sqrt()
        return cls(
            means,
            _factor(within),
            torch.log((1 - rho) * root / root.sum()),
            background_mean,
            _factor(centred.T @ (centred * background.unsqueeze(-1)) / background.sum()),
            rho.log() - BACKGROUND_PENALTY,
            history,
            torch.ones((), dtype=z.dtype),
        )

    def scores(self, z: Tensor, answers: Tensor) -> Tensor:
        """The logarithms of Eq. 2's right-hand sides for α = 1, the background's last. [B, C + 1]"""
        labels = self.log_prior + _log_normal(z, self.means, self.factor) + answers
        density = _log_normal(z, self.background_mean.unsqueeze(0), self.background_factor)
        return torch.cat([labels, self.background_log_prior + density], -1)

    def responsibilities(self, z: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Eq. 2: r_c [B, C] and r_0 [B]."""
        r = torch.softmax(self.inverse_temperature * self.scores(z, answers), -1)
        return r[:, :-1], r[:, -1]

    def state(self) -> dict[str, Tensor]:
        return dict(vars(self))

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> LabelMixture:
        return cls(**{f.name: state[f.name].to(device) for f in fields(cls)})


def _factor(covariance: Tensor) -> Tensor:
    eye = torch.eye(len(covariance), dtype=covariance.dtype)
    factor: Tensor = torch.linalg.cholesky((1 - SHRINKAGE) * covariance + SHRINKAGE * eye)
    return factor


def _log_normal(z: Tensor, means: Tensor, factor: Tensor) -> Tensor:
    """log N(z; μ, L Lᵀ), less the constant. [B, D], [K, D], [D, D] → [B, K]"""
    white = torch.linalg.solve_triangular(factor, z.T, upper=False).T
    centres = torch.linalg.solve_triangular(factor, means.T, upper=False).T
    distances = torch.stack([((white - centre) ** 2).sum(-1) for centre in centres], -1)
    return -0.5 * distances - factor.diagonal().log().sum()
