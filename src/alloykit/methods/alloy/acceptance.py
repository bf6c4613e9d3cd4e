"""Whether a fitted mixture is used (ours: Alloy).

It is used if the states can tell the labels of one teacher apart: the skill of Eq. 10 (methods/alloy/cross_fit.py) is at least a third.
Otherwise energies and numbers of labels give the teachers their weights (Eq. 25). With labelled texts there is a second way to be used: the
cross-fitted mixture gives more of them their label than that rule does.
"""

from __future__ import annotations

ACCEPTED, TOO_FEW, REJECTED = 0, 1, 2  # outcomes of a fit
MIN_SKILL = 1 / 3


def accepted(skill: float, right: float = 0.0, right_by_energy: float = 0.0) -> bool:
    """Whether the mixture is used. right, right_by_energy: the shares of the labelled texts that get their label from the mixture
    and from Eq. 26; both 0 without labelled texts."""
    return skill >= MIN_SKILL or right > right_by_energy
