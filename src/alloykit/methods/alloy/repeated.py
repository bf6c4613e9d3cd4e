"""Which texts of a pool repeat others (ours: Alloy, Eq. 30).

    x repeats others if ‖z(x) − z(y)‖² < 0.1 · 2 D for at least three texts y before it that do not repeat others              (30)

z: Eq. 1 (methods/alloy/states.py) with D = 128, fitted to the texts that do not repeat others. Its components have the mean variance 1, so 2 D is the mean of
‖z(x) − z(y)‖² over pairs of texts.

Logs and mails have texts that are sent again and again, often with another number or name in them. A point that comes a thousand times would decide means, components
and background of a mixture, though it says no more about the labels than one text does. The first three are kept, because a few similar texts are not
unusual: short questions about the same thing are this similar too.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.methods.alloy.states import StateSpace

NEAR = 0.1  # of the mean squared distance of two texts
KEPT = 3  # texts that are near to each other
DIMENSIONS = 128  # D of Eq. 1, whatever the method's option is: in few dimensions many texts are near to each other
ROUNDS = 6  # at most
BLOCK = 1024  # texts that are compared with all earlier ones at once


def repeated(states: Tensor, of_teachers: int) -> tuple[Tensor, StateSpace]:
    """Which texts repeat others by Eq. 30, [n] bool, and Eq. 1 with D = 128, fitted to the others. states [n, d], as `raw_states` gives them.

    Repeated texts change Eq. 1 itself. So it is fitted again to what is left, until nothing more is found.
    """
    repeats, left = torch.zeros(len(states), dtype=torch.bool), states
    for _ in range(ROUNDS):
        space = StateSpace.fit(left, of_teachers, DIMENSIONS)
        z = space(left)
        found = _near_earlier(z, NEAR * 2 * z.shape[1])
        if not found.any():
            return repeats, space
        repeats[~repeats] = found
        left = states[~repeats]
    return repeats, StateSpace.fit(left, of_teachers, DIMENSIONS)


def _near_earlier(z: Tensor, limit: float) -> Tensor:
    """Which texts have at least `KEPT` earlier ones, not found themselves, at a squared distance below `limit`. z [n, D] → [n] bool"""
    found = torch.zeros(len(z), dtype=torch.bool)
    for start in range(0, len(z), BLOCK):
        block = z[start : start + BLOCK]
        near = _near(block, z[:start][~found[:start]], limit).sum(1)
        within = _near(block, block, limit).tril(-1)
        if int((near + within.sum(1)).max()) >= KEPT:  # only then can any be found
            for i in range(len(block)):
                found[start + i] = near[i] + within[i, ~found[start : start + len(block)]].sum() >= KEPT
    return found


def _near(one: Tensor, other: Tensor, limit: float) -> Tensor:
    """Which pairs are nearer than the limit, [m, n] bool."""
    return torch.cdist(one, other).square() < limit
