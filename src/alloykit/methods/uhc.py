"""UHC: unifying heterogeneous classifiers (Vongkulbhisal et al. 2019)."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from alloykit.losses.kl import kl
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Supervision
from alloykit.outputs import Rows, TeacherRows


class UHCOptions(MethodOptions):
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the loss is multiplied by T²."""


class UHC(Method):
    """Each teacher supervises its own slice of the student's logits: T² Σ_i KL(p_i ‖ softmax(s[Y_i] / T)).

    With disjoint label sets the loss does not change when a constant is added to all student logits of one teacher's
    group: it does not determine how probability is divided between the groups. This depends on the student's
    initialisation. There is no single target over the union.
    """

    name = "uhc"
    title = "UHC: each teacher supervises its own labels"
    reference = "Vongkulbhisal et al. 2019"
    citation = (
        "Jayakorn Vongkulbhisal, Phongtharin Vinayavekhin, Marco Visentini-Scarzanella. Unifying "
        "Heterogeneous Classifiers with Distillation. CVPR 2019."
    )
    single_target = False
    Options = UHCOptions
    options: UHCOptions

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        t = self.options.temperature
        terms = [
            _of_answered(
                kl(teacher.probabilities(t), inputs.context.space.gather(i, inputs.student.logits), t), teacher
            )
            for i, teacher in enumerate(inputs.rows.teachers)
        ]
        return {"kl": torch.stack(terms).sum(0)}


def _of_answered(loss: Tensor, teacher: TeacherRows) -> Tensor:
    """[B], zero for texts that the teacher has no answer to."""
    return loss if teacher.answered is None else loss * teacher.answered.to(loss)
