"""Whether a fitted mixture is used (ours: Alloy).

It is used where the states can tell the labels of one teacher apart: the skill of Eq. 10 (methods/alloy/cross_fit.py) is at least a third.
Elsewhere the texts go to the teacher with the largest standardised energy (Eq. 2).
"""

from __future__ import annotations

ACCEPTED, TOO_FEW, REJECTED = 0, 1, 2  # outcomes of a fit
LEAST_SKILL = 1 / 3


def accepted(skill: float) -> bool:
    """Whether the mixture is used."""
    return skill >= LEAST_SKILL
