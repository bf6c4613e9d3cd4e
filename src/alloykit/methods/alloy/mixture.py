"""Whose text is it: a mixture over the labels of all teachers, fitted by expectation–maximisation to an unlabelled pool (ours).

z(x): the first D principal components of all teachers' early states (methods/alloy/early_states.py), each of variance one over the pool. Every label c of
the union is a Gaussian with a mean of its own; texts that no teacher knows are one more, 0, as wide as they are:

    r_c(x) ∝ [(1 − ρ) π̃_c N(z; μ_c, Σ) a_c(x)]^α       r_0(x) ∝ [ρ e^{−2} N(z; μ_0, Σ_0)]^α       Σ_c r_c + r_0 = 1        (2)
    a_c(x) = ∏_{i knows c} p̃_i(c | x)^{1 / owners of c}          π̃_c ∝ √π_c                                                 (3)
    μ, Σ, π, ρ: means, covariances and shares of the texts under r                                                         (4)
    γ_i(x) = Σ_{c ∈ Y_i} r_c / (owners of c · (1 − r_0))                                                                   (5)

A teacher's answer a_c says which of its own labels a text would have; only the states, in which all texts of a label lie together, say
whether it is one of them. Confidences enter once, as the start: with e_i half-standardised over the pool,

    γ_i = softmax(e / sd)_i          r_0 = 0.9 σ((t − max_i e_i) / ¼), t the pool's median of max_i e_i                    (6)

α is 1 in the rounds, and after them what two halves of the pool make of it (ownership_halves.py, Eq. 7).

√π keeps a small teacher from being swallowed, and e^{−2} a text from being nobody's unless its states clearly say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

ROUNDS = 20
SHRINKAGE = 0.1  # of both covariances, towards the identity, which is the whole pool's
FOREIGN_PENALTY = 2.0  # nats
START_FOREIGN = 0.5  # the share of the pool that starts as nobody's
PER_DIMENSION = 8  # texts
SMALLEST = 1e-4  # a component's deviation, of the largest one's: below is rounding


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
        n = max(1, min(dimensions, len(states) // PER_DIMENSION, *(s - 1 for s in states.shape)))
        found = PCA(n, svd_solver="arpack", random_state=0).fit(((states - shift) / scale).numpy())
        kept = found.singular_values_ > SMALLEST * found.singular_values_.max()
        spread = torch.from_numpy(found.singular_values_[kept]) / math.sqrt(len(states))
        return cls(shift, scale, torch.from_numpy(np.ascontiguousarray(found.components_[kept].T)) / spread)

    def __call__(self, states: Tensor) -> Tensor:
        """[B, d] → [B, D] float64."""
        return ((states - self.shift) / self.scale) @ self.directions


@dataclass(frozen=True)
class Ownership:
    """Eq. 2, fitted. `means` [C, D], `factor` [D, D] (Cholesky), `log_prior` [C]: log (1 − ρ) π̃; `mean_0` [D], `factor_0` [D, D],
    `log_prior_0` []: log ρ − 2. `course` [rounds + 1, N + 1]: the share of each teacher, and of nobody, at the start and after
    every round. `exponent` []: α of Eq. 7, 1 while it is fitted. All float64."""

    means: Tensor
    factor: Tensor
    log_prior: Tensor
    mean_0: Tensor
    factor_0: Tensor
    log_prior_0: Tensor
    course: Tensor
    exponent: Tensor

    @classmethod
    def fit(cls, z: Tensor, answers: Tensor, owners: Tensor, evidence: Tensor) -> Ownership:
        """z [n, D]; answers [n, C]: log a; owners [N, C] bool; evidence [n, N]: e of Eq. 6."""
        held = owners.double()
        r, r0 = begin(answers, owners, evidence)
        course = [_shares(r, r0, held)]
        for _ in range(ROUNDS):
            found = cls._maximised(z, r, r0, torch.stack(course))
            r, r0 = found.posterior(z, answers)
            course.append(_shares(r, r0, held))
        return cls._maximised(z, r, r0, torch.stack(course))

    @classmethod
    def _maximised(cls, z: Tensor, r: Tensor, r0: Tensor, course: Tensor) -> Ownership:
        """Eq. 4."""
        count = r.sum(0).clamp(min=1e-6)
        means = (r.T @ z) / count.unsqueeze(-1)
        within = (z.T @ (z * r.sum(1, keepdim=True)) - (means * count.unsqueeze(-1)).T @ means) / count.sum()
        nobody = r0.clamp(min=1e-9)
        mean_0 = nobody @ z / nobody.sum()
        apart = z - mean_0
        rho = nobody.mean().clamp(max=1 - 1e-6)
        root = (count / count.sum()).sqrt()
        return cls(
            means,
            _factor(within),
            torch.log((1 - rho) * root / root.sum()),
            mean_0,
            _factor(apart.T @ (apart * nobody.unsqueeze(-1)) / nobody.sum()),
            rho.log() - FOREIGN_PENALTY,
            course,
            torch.ones((), dtype=z.dtype),
        )

    def scores(self, z: Tensor, answers: Tensor) -> Tensor:
        """The logarithms of Eq. 2's right-hand sides for α = 1, nobody's last. [B, C + 1]"""
        own = self.log_prior + _log_normal(z, self.means, self.factor) + answers
        foreign = self.log_prior_0 + _log_normal(z, self.mean_0.unsqueeze(0), self.factor_0)
        return torch.cat([own, foreign], -1)

    def posterior(self, z: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Eq. 2: r_c [B, C] and r_0 [B]."""
        r = torch.softmax(self.exponent * self.scores(z, answers), -1)
        return r[:, :-1], r[:, -1]

    def state(self) -> dict[str, Tensor]:
        return dict(vars(self))

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> Ownership:
        return cls(**{f.name: state[f.name].to(device) for f in fields(cls)})


def teachers_share(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """γ of Eq. 5; where a text is nobody's for certain, all the same. [B, N]"""
    held = owners.double()
    each = (r / held.sum(0)) @ held.T
    known = (1 - r0).unsqueeze(-1)
    n = each.shape[-1]
    return torch.where(known > 1e-9, each / each.sum(-1, keepdim=True).clamp(min=1e-300), torch.full_like(each, 1 / n))


def half_standardised(c: Tensor, pool: Tensor) -> Tensor:
    """e = ½ [(c_i − mean_i) / sd_i + (c_i − mean) / sd], means and deviations over the pool, of one teacher and of all. Wholly
    standardised it would hide that a teacher owns more; as it is, the surest teacher would own everything. [B, N], [n, N]."""
    own = (c - pool.mean(0)) / _spread(pool.std(0))
    return 0.5 * (own + (c - pool.mean()) / _spread(pool.std()))


def start(evidence: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 6 for the pool itself: γ [n, N] and r_0 [n]."""
    lead = evidence - evidence.mean(-1, keepdim=True)
    best = evidence.amax(-1)
    r0 = 0.9 * torch.sigmoid((best.quantile(START_FOREIGN) - best) / 0.25)
    return torch.softmax(evidence / _spread(lead.std()), -1), r0


def begin(answers: Tensor, owners: Tensor, evidence: Tensor) -> tuple[Tensor, Tensor]:
    """r [n, C] and r_0 [n] before the first round."""
    gamma, r0 = start(evidence)
    return answers.exp() * (gamma @ owners.double()) * (1 - r0).unsqueeze(-1), r0


def _spread(deviation: Tensor) -> Tensor:
    return torch.where(deviation > 1e-9, deviation, torch.ones_like(deviation))


def _shares(r: Tensor, r0: Tensor, held: Tensor) -> Tensor:
    """Of all texts, whose they are: N teachers, and nobody. [N + 1]"""
    each = ((r / held.sum(0)) @ held.T).mean(0)
    return torch.cat([each / each.sum() * (1 - r0.mean()), r0.mean().unsqueeze(0)])


def _factor(covariance: Tensor) -> Tensor:
    eye = torch.eye(len(covariance), dtype=covariance.dtype)
    factor: Tensor = torch.linalg.cholesky((1 - SHRINKAGE) * covariance + SHRINKAGE * eye)
    return factor


def _log_normal(z: Tensor, means: Tensor, factor: Tensor) -> Tensor:
    """log N(z; μ, L Lᵀ), less the constant. [B, D], [K, D], [D, D] → [B, K]"""
    white = torch.linalg.solve_triangular(factor, z.T, upper=False).T
    centres = torch.linalg.solve_triangular(factor, means.T, upper=False).T
    far = torch.stack([((white - centre) ** 2).sum(-1) for centre in centres], -1)
    return -0.5 * far - factor.diagonal().log().sum()
