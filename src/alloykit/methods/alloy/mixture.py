"""A mixture over the labels of all teachers, fitted to an unlabelled pool from two views: states and energies (ours: Alloy, Eqs. 3–6).

    r_c ∝ a_c Σ_{i knows c} softmax_i(E_i / sd)                                              at the start                        (3)
    r^states_c ∝ π̃_c N(z; μ_c, Σ) a_c                                                        by states and answers               (4)
    r_c ∝ r^states_c exp(Σ_{i knows c} ℓ_i)                                                   and by energies (Eq. 5)             (6)
    a_c(x) = ∏_{i knows c} p_i(c | x)^{1 / teachers that know c}          π̃_c ∝ √(mean_x r_c)

    μ_c = Σ_x r_c(x)² z(x) / Σ_x r_c(x)²

Σ is the common covariance of the labels around their μ under r, shrunk by three quarters towards a multiple of the identity. ℓ is fitted to
k^states_i = Σ_{c ∈ Y_i} r^states_c. Twelve iterations of Eqs. 4–6. sd: of the energies' differences to their mean over the teachers, over the pool.

Of a text that some teachers have no answer to, only the others count in Eqs. 3–6, and the labels that none of them knows have r_c = 0.
A labelled text (an anchor) has r = 1 for its label in every iteration, and counts as three texts.

With a background (methods/alloy/background.py, Eqs. 18, 19) a part b of each text belongs to no label: the labels, the prior and ℓ are fitted with the weights
r_c (1 − b), and r stays a distribution over the labels.

A teacher's answer a_c says which of its own labels a text has, if it has one of them. Whether it has one of them is decided by the states (texts with
the same label have similar states) and by the energies. Without the square root, the labels of a teacher with few texts would lose their texts.
With r in place of r², the many doubtful texts of a large label would move the mean of a rare one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.background import Background, initial_background
from alloykit.methods.alloy.energies import EnergyGaussians
from alloykit.methods.alloy.routing import knows_label, shares
from alloykit.progress import bar

ITERATIONS = 12
SLOW = 1_000_000  # texts times labels; a fit to more of them takes seconds
ANCHOR = 3.0  # a labelled text counts as so many texts
SHRINKAGE = 0.75
MIN_SHARE = 1e-6  # of a label
NO_SPREAD = 1e-9


@dataclass(frozen=True)
class View:
    """n texts as the mixture sees them: `z` [n, D], `answers` [n, C] (log a), `energies` [n, N]; all float64. `answered` [n, N] bool: which
    teacher has an answer to which text; None: every teacher to every text."""

    z: Tensor
    answers: Tensor
    energies: Tensor
    answered: Tensor | None = None

    def __len__(self) -> int:
        return len(self.z)

    def part(self, at: Tensor) -> View:
        return View(
            self.z[at], self.answers[at], self.energies[at], None if self.answered is None else self.answered[at]
        )

    def possible(self, scores: Tensor, owners: Tensor) -> Tensor:
        """The scores, [n, C], −∞ for a label that no teacher with an answer knows."""
        if self.answered is None:
            return scores
        return scores.masked_fill(self.answered.double() @ owners.double() == 0, -torch.inf)


def joined_views(parts: Sequence[View]) -> View:
    """The views of consecutive texts as one."""
    answered = None
    if any(part.answered is not None for part in parts):
        masks = [torch.ones_like(p.energies, dtype=torch.bool) if p.answered is None else p.answered for p in parts]
        answered = torch.cat(masks)
    z, answers, energies = (torch.cat([getattr(p, name) for p in parts]) for name in ("z", "answers", "energies"))
    return View(z, answers, energies, answered)


@dataclass(frozen=True)
class Anchors:
    """m labelled texts: their views, and their labels as positions in the union, [m] int64."""

    view: View
    labels: Tensor

    def part(self, at: Tensor) -> Anchors:
        return Anchors(self.view.part(at), self.labels[at])


@dataclass(frozen=True)
class LabelMixture:
    """Fitted. means [C, D], factor [D, D] (Cholesky of Σ), log_prior [C]: log π̃; all float64. history [iterations + 1, N]: the share of each
    teacher at the start and after every iteration, of the texts that are not background. background: None for a mixture without one."""

    means: Tensor
    factor: Tensor
    log_prior: Tensor
    energies: EnergyGaussians
    history: Tensor
    background: Background | None = None

    @classmethod
    def fit(
        cls, view: View, owners: Tensor, anchors: Anchors | None = None, *, background: bool = False
    ) -> LabelMixture:
        """owners [N, C] bool: which teacher knows which label. anchors: their r is their label in every iteration, and each counts as
        three texts. background: whether texts can belong to no label."""
        r = initial_responsibilities(view, owners)
        outside = 1 - initial_background(view.energies, view.answered) if background else torch.ones_like(r[:, 0])
        history = [_shares_outside(r, outside, owners, view.answered)]
        everything, known = view, r[:0]
        if anchors is not None:
            everything = joined_views([view, anchors.view])
            known = torch.nn.functional.one_hot(anchors.labels, len(owners.T)).to(r.dtype)
        counts = torch.cat([torch.ones(len(r), dtype=r.dtype), torch.full((len(known),), ANCHOR, dtype=r.dtype)])
        slow = view.answers.numel() > SLOW
        with bar("Alloy's mixture", ITERATIONS if slow else 0, "iterations") as advance:
            for _ in range(ITERATIONS):
                means, factor, log_prior = _maximised(
                    everything.z, torch.cat([r * outside.unsqueeze(-1), known]), counts
                )
                other = Background.fit(view.z, 1 - outside, SHRINKAGE, NO_SPREAD) if background else None
                by_states = torch.softmax(view.possible(_state_scores(view, means, factor, log_prior), owners), -1)
                weights = torch.cat([by_states * outside.unsqueeze(-1), known])
                energies = EnergyGaussians.fit(
                    everything.energies, knows_label(weights, owners), counts, everything.answered
                )
                fitted = cls(means, factor, log_prior, energies, torch.stack(history), other)
                r = torch.softmax(fitted.scores(view, owners), -1)
                outside = 1 - fitted.background_share(view, owners)
                history.append(_shares_outside(r, outside, owners, view.answered))
                advance(int(slow))
        means, factor, log_prior = _maximised(everything.z, torch.cat([r * outside.unsqueeze(-1), known]), counts)
        other = Background.fit(view.z, 1 - outside, SHRINKAGE, NO_SPREAD) if background else None
        return cls(means, factor, log_prior, energies, torch.stack(history), other)

    def state_scores(self, view: View) -> Tensor:
        """The logarithms of Eq. 4's right-hand sides. [B, C]"""
        return _state_scores(view, self.means, self.factor, self.log_prior)

    def scores(self, view: View, owners: Tensor) -> Tensor:
        """The logarithms of Eq. 6's right-hand sides. [B, C]"""
        ratios = self.energies.log_ratios(view.energies)
        if view.answered is not None:
            ratios = ratios * view.answered
        return view.possible(self.state_scores(view).add_(ratios @ owners.double()), owners)

    def background_share(self, view: View, owners: Tensor) -> Tensor:
        """b of Eq. 19, [B]; 0 for a mixture without a background."""
        if self.background is None:
            return torch.zeros_like(view.z[:, 0])
        labels = self.scores(view, owners).logsumexp(-1) + self._same_for_all_labels(view)
        return torch.sigmoid(self.background.scores(view.z) - labels)

    def log_density(self, view: View) -> Tensor:
        """log of the density of the states alone, without (2π)^(−D/2): Σ_c π̃_c N(z; μ_c, Σ) with π̃ normalised; with a background, (1 − π_0) times this
        plus π_0 N(z; μ_0, Σ_0). [B]"""
        labels = (self.state_scores(view) - view.answers).logsumexp(-1) + self._same_for_all_labels(view)
        if self.background is None:
            return labels
        share = self.background.share
        return torch.logaddexp((1 - share).log() + labels, share.log() + self.background.log_density(view.z))

    def _same_for_all_labels(self, view: View) -> Tensor:
        """What `state_scores` leaves out. [B]"""
        white = torch.linalg.solve_triangular(self.factor, view.z.T, upper=False)
        found: Tensor = -0.5 * white.square().sum(0) - self.factor.diagonal().log().sum() - self.log_prior.logsumexp(-1)
        return found

    def state(self) -> dict[str, Tensor]:
        arrays = {name: value for name, value in vars(self).items() if name not in ("energies", "background")}
        other = {} if self.background is None else self.background.state()
        return arrays | vars(self.energies) | other

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> LabelMixture:
        names = ("means", "factor", "log_prior", "history")
        arrays = {name: state[name].to(device) for name in names}
        return cls(energies=EnergyGaussians.of(state, device), background=Background.of(state, device), **arrays)


def initial_weights(energies: Tensor, answered: Tensor | None = None) -> Tensor:
    """softmax_i(E_i / sd) of Eq. 3, over the teachers that have an answer. [n, N] → [n, N]"""
    if answered is not None:
        count = answered.sum(-1, keepdim=True).clamp(min=1)
        mean = (energies * answered).sum(-1, keepdim=True) / count
        sd = (energies - mean)[answered].std(correction=0)
        return torch.softmax((energies / (sd if float(sd) > NO_SPREAD else 1.0)).masked_fill(~answered, -torch.inf), -1)
    spread = (energies - energies.mean(-1, keepdim=True)).std(correction=0)
    return torch.softmax(energies / (spread if float(spread) > NO_SPREAD else 1.0), -1)


def initial_responsibilities(view: View, owners: Tensor) -> Tensor:
    """Eq. 3, [n, C]."""
    r: Tensor = view.answers.exp() * (initial_weights(view.energies, view.answered) @ owners.double())
    return r / r.sum(-1, keepdim=True)


def _shares_outside(r: Tensor, outside: Tensor, owners: Tensor, answered: Tensor | None) -> Tensor:
    """The share of each teacher of the texts that are not background. outside [n]: 1 − b. [N]"""
    weighted = shares(r * outside.unsqueeze(-1), owners, answered)
    return weighted / outside.mean().clamp(min=MIN_SHARE)


def _maximised(z: Tensor, r: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """μ [C, D], the factor of Σ [D, D], and log π̃ [C]. r [n, C]; counts [n]: how often each text counts."""
    weighted, clear = r * counts.unsqueeze(-1), r.square() * counts.unsqueeze(-1)
    count, d = weighted.sum(0), z.shape[1]
    means = (clear.T @ z) / clear.sum(0).clamp(min=MIN_SHARE).unsqueeze(-1)
    across = (weighted.T @ z).T @ means
    within = z.T @ (z * weighted.sum(1, keepdim=True)) - across - across.T + (means * count.unsqueeze(-1)).T @ means
    within = within / count.sum()
    size = within.diagonal().mean().clamp(min=NO_SPREAD)
    covariance = (1 - SHRINKAGE) * (within + within.T) / 2 + SHRINKAGE * size * torch.eye(d, dtype=z.dtype)
    factor: Tensor = torch.linalg.cholesky(covariance)
    return means, factor, 0.5 * (count / count.sum()).clamp(min=MIN_SHARE).log()


def _state_scores(view: View, means: Tensor, factor: Tensor, log_prior: Tensor) -> Tensor:
    """log π̃ + log N(z; μ_c, Σ) + log a, without the terms that are the same for all labels. [B, C]"""
    white = torch.linalg.solve_triangular(factor, view.z.T, upper=False).T
    centres = torch.linalg.solve_triangular(factor, means.T, upper=False).T
    found: Tensor = white @ centres.T  # in place from here: with many labels a [B, C] is hundreds of megabytes
    return found.add_(log_prior).sub_(0.5 * centres.square().sum(-1)).add_(view.answers)
