"""BERT-PKD: patient knowledge distillation (Sun et al. 2019), from one teacher.

    L = (1 − α) CE(y, q) + α T² KL(p ‖ q) + β mean_{l=1}^{L_s−1} ‖ h^s_l / ‖h^s_l‖ − h^t_{I(l)} / ‖h^t_{I(l)}‖ ‖² / d

h are the states of the first token, [CLS], of width d; the student's last layer is left out. The paper prints a sum over
layers and widths; its β are those of a mean over both, which is what its authors' code takes. PKD-skip: I(l) = l L_t / L_s
(every k-th layer), rounded up; PKD-last: the teacher's last layers but its last one.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from alloykit.errors import AlloyError
from alloykit.losses.kl import kl
from alloykit.methods.distillation import label_loss
from alloykit.methods.layers import uniform
from alloykit.methods.protocol import Context, LossInputs, Needs, Supervision
from alloykit.methods.single import SingleTeacher, SingleTeacherOptions
from alloykit.outputs import Rows


class PKDOptions(SingleTeacherOptions):
    alpha: float = Field(0.5, ge=0, le=1)
    """Share of the teacher's outputs beside the labels (the paper tries 0.2, 0.5, 0.7)."""
    temperature: float = Field(5.0, gt=0)
    """T (the paper tries 5, 10, 20); the distillation loss is multiplied by T²."""
    beta: float = Field(100.0, ge=0)
    """Weight of the states (the paper tries 10, 100, 500, 1000)."""
    patience: Literal["skip", "last"] = "skip"
    """Which teacher layers: every k-th, or the last ones."""


class PKD(SingleTeacher):
    """The student follows the teacher's [CLS] through its layers. `loss` raises AlloyError for a student that is padded on the left, and for a teacher of
    another width."""

    name = "pkd"
    title = "BERT-PKD: KD, labels, and the teacher's [CLS] at several layers"
    reference = "Sun et al. 2019"
    citation = "Siqi Sun, Yu Cheng, Zhe Gan, Jingjing Liu. Patient Knowledge Distillation for BERT Model Compression. EMNLP 2019."
    Options = PKDOptions
    options: PKDOptions

    @property
    def needs(self) -> Needs:
        return Needs(self.options.which + 1, token_states=True, labels=True, student_hidden_states=True)

    def layers(self, student: int, teacher: int) -> tuple[int, ...]:
        if self.options.patience == "skip":
            return uniform(student, teacher)[:-1]
        return tuple(max(1, teacher - student + l) for l in range(1, student))  # noqa: E741

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        return self.teachers_answer(rows, context, self.options.temperature)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        o, student = self.options, inputs.student
        states, mask = self.states(inputs)
        hidden = self.hidden(inputs)
        terms = {
            "kl": o.alpha * inputs.target.weights * kl(inputs.target.targets, student.logits, o.temperature),
            "ce": (1 - o.alpha) * label_loss(inputs),
        }
        if not states:  # a student of one layer has none but its last
            return terms
        if student.attention_mask is not None and not bool(student.attention_mask[:, 0].all()):
            raise AlloyError(
                expected="[CLS] as the student's first token, because `pkd` compares states there",
                got="a tokenizer that pads on the left",
                hint="Take a model of BERT's kind, or tinybert or mt_bert, which compare all tokens.",
            )
        if hidden[0].shape[-1] != states[0].shape[-1]:
            raise AlloyError(
                expected=f"a teacher as wide as the student ({hidden[0].shape[-1]}), because `pkd` compares their states directly",
                got=f"one of {states[0].shape[-1]}",
                hint="Take a student or a teacher of the same width, or tinybert, which maps one to the other.",
            )
        far = []
        for h, t in zip(hidden[1:], states, strict=False):
            a, b = (
                functional.normalize(h[:, 0].to(t.dtype), dim=-1),
                functional.normalize(t[:, 0], dim=-1),
            )
            far.append(((a - b) ** 2).mean(-1))
        return terms | {"patience": o.beta * mask[:, 0] * torch.stack(far).mean(0)}
