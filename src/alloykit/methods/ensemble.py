"""The ensemble: all teachers' logits side by side (MUKA §4.1, "Ensemble")."""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, Phase, Supervision, uniform_weights
from alloykit.methods.requirements import unequal_counts
from alloykit.outputs import Rows

NONE = torch.finfo(torch.float32).min  # the logit of a label that no teacher with an answer knows


def ensemble_logits(rows: Rows, space: LabelSpace, *, log_probabilities: bool = False) -> Tensor:
    """[z_1; …; z_N] over the union, [B, C] float32. log_probabilities: log p_i in place of every z_i (ours), where a teacher has no logits.

    Where label sets overlap (ours), each teacher's logits are first centred to mean zero, and the logits of a shared
    class are averaged over the teachers that know it, and have an answer to the text.
    """
    centred = space.overlapping
    total: Tensor | None = None
    for i, teacher in enumerate(rows.teachers):
        z = torch.log_softmax(teacher.logits, -1) if log_probabilities else teacher.logits
        z = z - z.mean(-1, keepdim=True) if centred else z
        z = z if teacher.counts is None else z * teacher.counts.unsqueeze(-1)
        padded = space.scatter(i, z)
        total = padded if total is None else total + padded
    assert total is not None
    knows, answered = space.has_label().to(total), rows.counts()
    if answered is None:
        return total / knows.sum(0)
    count = answered.to(total) @ knows
    return torch.where(count > 0, total / count.clamp(min=1), NONE)


def mixed(context: Context) -> bool:
    """Whether some teachers have no logits, so that log-probabilities of all are compared."""
    return not all(context.gives_logits(i) for i in range(len(context.space.teachers)))


def scale_warnings(context: Context) -> list[str]:
    """A warning if one teacher's logits are probably much larger than another's (see also Li et al. 2021, §4.4)."""
    unequal = unequal_counts(context.space)
    if unequal is None:
        return []
    return [
        f"{unequal}: logits of more labels usually spread wider, so the teacher with more labels may decide too often."
    ]


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
        targets = torch.softmax(ensemble_logits(rows, context.space, log_probabilities=mixed(context)), dim=-1)
        return Supervision(targets, uniform_weights(targets))
