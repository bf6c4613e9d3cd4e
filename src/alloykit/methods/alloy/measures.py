"""What is fitted after the mixture, and what the report says of it (ours: Alloy). With a background: of the texts outside of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.acceptance import outcome_of
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.by_ensemble import ensemble_accuracy
from alloykit.methods.alloy.cross_fit import (
    CrossFitted,
    cross_fit,
    fit_inverse_temperature,
    label_skill,
    same_teacher,
)
from alloykit.methods.alloy.energy_weights import EnergyWeights, mean_separation
from alloykit.methods.alloy.estimate import estimate, estimate_from_labels
from alloykit.methods.alloy.few_labels import FewLabels
from alloykit.methods.alloy.mixture import Anchors, initial_responsibilities, initial_weights
from alloykit.methods.alloy.pool_view import PoolView
from alloykit.methods.alloy.report import texts_that_moved
from alloykit.methods.alloy.routing import shares
from alloykit.methods.alloy.target import clarity, confidence_of_answers
from alloykit.methods.alloy.views import ViewAgreement, two_views
from alloykit.methods.protocol import Context


@dataclass(frozen=True)
class Refitted:
    """The texts, and their scores by the mixtures that were fitted to a part of what the chosen one sees: to the `halves` of the texts, and to the
    teachers' and the encoder's states alone (`views`: [n, C] each; None where one kind is missing)."""

    texts: PoolView
    halves: CrossFitted
    views: tuple[Tensor, Tensor] | None

    @classmethod
    def of(cls, texts: PoolView, owners: Tensor, dimensions: int, *, background: bool) -> Refitted:
        """dimensions: D of Eq. 1. background: whether the mixtures have one."""
        halves = cross_fit(texts.view, owners, background=background)
        return cls(texts, halves, two_views(texts, dimensions, owners, background=background))

    def part(self, at: Tensor) -> Refitted:
        views = None if self.views is None else (self.views[0][at], self.views[1][at])
        return Refitted(self.texts.part(at), self.halves.part(at), views)


def fit_measures(
    texts: PoolView, chosen: ChosenMixture, anchors: Anchors | None, context: Context, dimensions: int
) -> dict[str, Tensor]:
    """α, clarity, weights by energies, the classifier of labelled texts, whether the mixture is used, and figures for the report. dimensions: D of Eq. 1."""
    owners, background = context.space.has_label(), chosen.has_background
    again = Refitted.of(texts, owners, dimensions, background=background)
    few = None if anchors is None else FewLabels.fit(texts.view, anchors, owners, background=background)
    b = chosen.background_share(texts.view, owners)
    found = {"background_texts": b.mean()}
    if chosen.without is not None:
        inside = b < 0.5
        foreign = chosen.without.scores(texts.view, owners)[~inside].argmax(-1)
        found["background_labels"] = foreign.bincount(minlength=owners.shape[1])
        again = again.part(inside)
    view, halves = again.texts.view, again.halves
    plain = chosen.scores(view, owners)
    alpha = fit_inverse_temperature(plain, halves.scores, owners, view.answered)
    r = torch.softmax(alpha * (plain if few is None else few.scores(plain, view)), -1)
    skill = label_skill(plain, halves.state_scores, view.answers, owners, view.answered)
    agreement = None if again.views is None else ViewAgreement.of(*again.views, owners, view.answered)
    right = (0.0, 0.0) if few is None else (few.accuracy, ensemble_accuracy(context))
    clear = clarity(again.texts.probabilities, r, owners, view.answered)
    confidence = confidence_of_answers(again.texts.probabilities, r, owners, clear, context.space, view.answered)
    found |= {
        "outcome": torch.tensor(outcome_of(skill, agreement, *right)),
        "inverse_temperature": alpha,
        "clarity": clear,
        "skill": torch.tensor(skill, dtype=torch.float64),
    }
    found |= _agreement(again, plain, confidence, agreement, owners)
    return found | _of_teachers(again.texts, chosen, r, owners) | _of_labels(few, plain, again.texts)


def _agreement(
    again: Refitted, plain: Tensor, confidence: Tensor, agreement: ViewAgreement | None, owners: Tensor
) -> dict[str, Tensor]:
    """How often the mixtures agree, and the accuracy that is estimated from it without labels. plain: scores by the chosen mixture, [n, C]."""
    halves, views, view = again.halves, again.views, again.texts.view
    same_half = same_teacher(plain, halves.scores, owners, view.answered)
    same = same_half if views is None else same_teacher(*views, owners, view.answered)
    found = {"agreement": same_half.double().mean()}
    found |= estimate(plain, same, halves, view.answers, confidence, owners, view.answered, views=views is not None)
    if agreement is not None:
        of_views = {"label_agreement": agreement.labels, "teacher_agreement": agreement.teachers}
        found |= {name: torch.tensor(value, dtype=torch.float64) for name, value in of_views.items()}
    return found


def _of_teachers(texts: PoolView, chosen: ChosenMixture, r: Tensor, owners: Tensor) -> dict[str, Tensor]:
    """The texts of each teacher before and after the fit, and what energies say of them. r: [n, C]."""
    view, energies = texts.view, chosen.mixture.energies
    by_energies = EnergyWeights.fit(energies, view.energies, r, owners, view.answered)
    found = {
        "separation": energies.separation(),
        "mean_separation": mean_separation(energies, shares(r, owners, view.answered)),
        "texts_by_label": torch.stack([initial_responsibilities(view, owners).sum(0), r.sum(0)]),
    }
    found |= texts_that_moved(texts.positions, initial_weights(view.energies, view.answered), r, owners, view.answered)
    return found if by_energies is None else found | by_energies.state()


def _of_labels(few: FewLabels | None, plain: Tensor, texts: PoolView) -> dict[str, Tensor]:
    """The classifier of the labelled texts; if these have nearly all labels, also the accuracy that is estimated with them. plain: as in `_agreement`."""
    if few is None:
        return {}
    rho = torch.softmax(few.alpha * few.scores(plain, texts.view), -1)
    return few.state() | (estimate_from_labels(rho, few.texts) if few.covers(rho) else {})
