"""Multi-label teachers: each label is a yes-or-no question of its own.

    t_c = mean over the teachers that know c of σ(z_ic)        L(x) = Σ_c KL(t_c ‖ σ(s_c))

Routing does not apply here: a teacher says of each of its labels whether it fits, and says nothing of the labels of others. So each label is taught by the
teachers that know it, and by all of them alike.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import GIVEN, LabelSpace
from alloykit.losses.kl import binary_kl
from alloykit.methods.protocol import Context, LossInputs, Method, Needs, Supervision
from alloykit.outputs import Rows


class MultiLabel(Method):
    """The mean of the teachers' probabilities, label by label, for teachers whose labels do not exclude each other."""

    name = "multi_label"
    title = "Multi-label teachers: mean probability of each label"
    reference = "alloykit"
    single_target = False

    @property
    def needs(self) -> Needs:
        return Needs(multi_label=True)

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        with torch.no_grad():
            target, known = label_probabilities(inputs.rows, inputs.context.space)
        return {"kl": (binary_kl(target, inputs.student.logits) * known.to(target)).sum(-1)}

    def correct(self, logits: Tensor, rows: Rows) -> Tensor:
        """The share of the labels that student or truth give to a text that both give, [B]; 1 for a text without any label in both."""
        assert rows.labels is not None
        given, truth = torch.sigmoid(logits) >= GIVEN, rows.labels
        either = (given | truth).sum(-1)
        return torch.where(either > 0, (given & truth).sum(-1) / either.clamp(min=1), 1.0)


def label_probabilities(rows: Rows, space: LabelSpace) -> tuple[Tensor, Tensor]:
    """The mean probability of each label over the teachers that know it and have an answer to the text, [B, C] float32, and whether there is
    such a teacher, [B, C] bool. Where there is none, the probability is 0."""
    logits = rows.teachers[0].logits
    total = logits.new_zeros(len(logits), space.size)
    count = torch.zeros_like(total)
    for i, teacher in enumerate(rows.teachers):
        answered = torch.ones_like(logits[:, 0]) if teacher.counts is None else teacher.counts.to(logits)
        total = total + space.scatter(i, torch.sigmoid(teacher.logits) * answered.unsqueeze(-1))
        count = count + space.scatter(i, answered.unsqueeze(-1).expand_as(teacher.logits))
    return total / count.clamp(min=1), count > 0
