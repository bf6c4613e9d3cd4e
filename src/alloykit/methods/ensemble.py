"""The ensemble: all teachers' logits side by side (MUKA §4.1, "Ensemble")."""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, Phase, Supervision, uniform_weights
from alloykit.methods.requirements import unequal_counts
from alloykit.outputs import Rows


def ensemble_logits(rows: Rows, space: LabelSpace) -> Tensor:
    """[z_1; …; z_N] over the union, [B, C] float32.

    Where label sets overlap (ours), each teacher's logits are first centred to mean zero, and the logits of a shared
    class are averaged over the teachers that know it.
    """
    centred = space.overlapping
    total: Tensor | None = None
    for i, teacher in enumerate(rows.teachers):
        z = teacher.logits - teacher.logits.mean(-1, keepdim=True) if centred else teacher.logits
        padded = space.scatter(i, z)
        total = padded if total is None else total + padded
    assert total is not None
    return total / space.has_label().sum(0).to(total)


def scale_warnings(context: Context) -> list[str]:
    """A warning if one teacher's logits are probably much larger than another's (see also Li et al. 2021, §4.4)."""
    unequal = unequal_counts(context.space)
    if unequal is None:
        return []
    return [f"{unequal}: logits of more labels usually spread wider, and side by side the loudest teacher wins."]


class Ensemble(Method):
    """argmax softmax([z_1; …; z_N])."""

    name = "ensemble"
    title = "Ensemble of all teachers (no student)"
    reference = "Li et al. 2021, §4.1"

    def warnings(self, context: Context) -> list[str]:
        return scale_warnings(context)

    def phases(self) -> tuple[Phase, ...]:
        return ()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        targets = torch.softmax(ensemble_logits(rows, context.space), dim=-1)
        return Supervision(targets, uniform_weights(targets))
