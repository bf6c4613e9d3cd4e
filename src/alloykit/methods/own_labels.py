"""What every teacher says of its own labels, of every text (the loss of UHC, Vongkulbhisal et al. 2019; a part of Alloy's).

Σ_i T² KL(p_i ‖ softmax(s[Y_i] / T))          s[Y_i]: the student's logits of the labels that teacher i knows
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.losses.kl import kl
from alloykit.outputs import Rows, TeacherRows


def own_labels_kl(rows: Rows, space: LabelSpace, logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Σ_i T² KL(p_i ‖ softmax(s[Y_i] / T)), over the teachers that have an answer to the text. logits [B, C] float32: the student's → [B], in nats."""
    terms = [
        _of_answered(kl(teacher.probabilities(temperature), space.gather(i, logits), temperature), teacher)
        for i, teacher in enumerate(rows.teachers)
    ]
    return torch.stack(terms).sum(0)


def _of_answered(loss: Tensor, teacher: TeacherRows) -> Tensor:
    """[B], zero for texts that the teacher has no answer to."""
    return loss if teacher.answered is None else loss * teacher.answered.to(loss)
