"""Whether a fitted mixture is used (ours: Alloy).

It is used if the two views of the texts agree about the labels: κ of Eq. 27 (methods/alloy/views.py) is at least 0.55. If they do not, two conditions must hold: the
states can tell the labels of one teacher apart, so the skill of Eq. 10 (methods/alloy/cross_fit.py) is at least a third; and the views agree about the N teachers, so
κ′ of Eq. 31 is at least 0.27 / √(N − 1). With one kind of states only the skill decides. Otherwise the ensemble takes the mixture's place (Eq. 32). With labelled
texts the mixture is also used if, cross-fitted, it gives more of them their label than the ensemble does.

√(N − 1) κ′ is Pearson's φ = √(χ² / n) of the two choices of a teacher for the n texts, if all teachers are chosen equally often and all disagreements are equally
frequent. So with more teachers a smaller κ′ says as much.
"""

from __future__ import annotations

import math

from alloykit.methods.alloy.views import UNLIKE, ViewAgreement

ACCEPTED, TOO_FEW, NO_SKILL, NO_AGREEMENT = 0, 1, 2, 3  # outcomes of a fit
MIN_SKILL = 1 / 3
MIN_DEPENDENCE = 0.27  # φ, asked for only if κ is small


def least_agreement(teachers: int) -> float:
    """The smallest κ′ that is enough where κ is small. teachers: N, at least two."""
    return MIN_DEPENDENCE / math.sqrt(teachers - 1)


def outcome_of(skill: float, views: ViewAgreement | None, right: float = 0.0, right_by_ensemble: float = 0.0) -> int:
    """One of ACCEPTED, NO_SKILL and NO_AGREEMENT. views: None if there is one kind of states. right, right_by_ensemble: the shares of the labelled texts
    that get their label from the mixture and from Eq. 32; both 0 without labelled texts."""
    if right > right_by_ensemble or (views is not None and views.labels >= UNLIKE):
        return ACCEPTED
    if skill < MIN_SKILL:
        return NO_SKILL
    if views is not None and views.teachers < least_agreement(views.among):
        return NO_AGREEMENT
    return ACCEPTED
