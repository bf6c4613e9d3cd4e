"""Whether a fitted mixture is used (ours: Alloy).

It is used where the states can tell the labels of one teacher apart: the skill of Eq. 10 (methods/alloy/cross_fit.py) is at least a third.
Elsewhere the texts go to the teacher with the largest standardised energy (Eq. 2). If some texts are labelled, the mixture is also used where it
names more of their labels, cross-fitted, than that teacher.
"""

from __future__ import annotations

ACCEPTED, TOO_FEW, REJECTED = 0, 1, 2  # outcomes of a fit
LEAST_SKILL = 1 / 3


def accepted(skill: float, right: float = 0.0, right_by_energy: float = 0.0) -> bool:
    """Whether the mixture is used. right, right_by_energy: the shares of the labelled texts whose label the mixture and the largest energy
    name; both 0 without labelled texts."""
    return skill >= LEAST_SKILL or right > right_by_energy
