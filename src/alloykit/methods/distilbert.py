"""DistilBERT's loss for a task (Sanh et al. 2019, §3), from one teacher.

    L = a_kd T² KL(p ‖ q) + a_task CE(y, q) + a_cos mean_t (1 − cos(h^s_t, h^t_t)),   h of the last layers, real tokens

Their student takes every other layer of the teacher: `student: {layers: …, keep: even}`. Where the masked-language-model loss
stands in pre-training, the task's own loss stands here. A teacher of another width gets a learnt linear map (ours).
"""

from __future__ import annotations

from typing import cast

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from alloykit.losses.kl import kl
from alloykit.methods.distillation import label_loss
from alloykit.methods.protocol import Context, LossInputs, Needs, Supervision
from alloykit.methods.single import SingleTeacher, SingleTeacherOptions
from alloykit.outputs import Rows


class DistilBertOptions(SingleTeacherOptions):
    temperature: float = Field(2.0, gt=0)
    """T, as in the authors' scripts; the distillation loss is multiplied by T²."""
    distillation_weight: float = Field(5.0, ge=0)
    """a_kd; 5 in the authors' scripts."""
    task_weight: float = Field(2.0, ge=0)
    """a_task; 2 in the authors' scripts."""
    cosine_weight: float = Field(1.0, ge=0)
    """a_cos; 1 in the authors' scripts."""


class DistilBert(SingleTeacher):
    """KD, the labels, and the direction of the last hidden states."""

    name = "distilbert"
    title = "DistilBERT: KD, labels, and the cosine of the last hidden states"
    reference = "Sanh et al. 2019"
    citation = (
        "Victor Sanh, Lysandre Debut, Julien Chaumond, Thomas Wolf. DistilBERT, a distilled version of BERT: smaller, faster, "
        "cheaper and lighter. 2019."
    )
    Options = DistilBertOptions
    options: DistilBertOptions

    @property
    def needs(self) -> Needs:
        return Needs(self.options.which + 1, token_states=True, labels=True, student_hidden_states=True)

    def layers(self, student: int, teacher: int) -> tuple[int, ...]:
        return (teacher,)

    def modules(self, context: Context) -> nn.ModuleDict:
        student_width, teacher_width = (
            context.student_shape.hidden_size,
            context.teachers[self.options.which].hidden_size,
        )
        return nn.ModuleDict(
            {"map": nn.Linear(teacher_width, student_width, bias=False)} if student_width != teacher_width else {}
        )

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        return self.teachers_answer(rows, context, self.options.temperature)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        o, student = self.options, inputs.student
        (teacher_state,), mask = self.states(inputs)
        student_state = self.hidden(inputs)[-1].to(teacher_state.dtype)
        if "map" in inputs.modules:
            teacher_state = cast("nn.Linear", inputs.modules["map"])(teacher_state)
        away = 1 - functional.cosine_similarity(student_state, teacher_state, dim=-1)
        away = (away * mask).sum(-1) / mask.sum(-1).clamp(min=1)
        return {
            "kl": o.distillation_weight
            * inputs.target.weights
            * kl(inputs.target.targets, student.logits, o.temperature),
            "ce": o.task_weight * label_loss(inputs),
            "cosine": o.cosine_weight * away,
        }
