"""TinyBERT's two stages of task distillation (Jiao et al. 2020), from one teacher.

Stage 1, for student layer m = 1..M and teacher layer g(m) = ⌈m N / M⌉, and for the embeddings (m = 0 ↔ 0):

    L_attn = Σ_m mean_h MSE(A^s_{m,h}, A^t_{g(m),h})       scores before the softmax (Eq. 7)
    L_hidn = Σ_m MSE(H^s_m W_h, H^t_{g(m)})                 (Eq. 8)       L_embd = MSE(E^s W_e, E^t)   (Eq. 9)

Stage 2:  L_pred = T² CE(softmax(z / T), softmax(s / T))    (Eq. 10; T² is ours)

One W_h for all layers, as in the authors' code, which also maps the embeddings; W_e = W_h there and here. Real tokens only; means
per text. General distillation and data augmentation, which come before and around these stages, are not part of it.
"""

from __future__ import annotations

from typing import cast

import torch
from pydantic import Field
from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.losses.hidden import masked_mse
from alloykit.methods.distillation import soft_cross_entropy
from alloykit.methods.layers import uniform
from alloykit.methods.protocol import Context, LossInputs, Needs, Phase, Supervision
from alloykit.methods.single import SingleTeacher, SingleTeacherOptions
from alloykit.outputs import Rows

LAYERS, ANSWERS = "layers", "answers"


class TinyBertOptions(SingleTeacherOptions):
    temperature: float = Field(1.0, gt=0)
    """T of the second stage (the paper: 1)."""
    layer_epochs: float | None = Field(None, gt=0)
    """Epochs of the first stage; the recipe's `epochs` if not given (the paper: 20, and 3 for the second)."""
    layer_learning_rate: float | None = Field(None, gt=0)
    """Learning rate of the first stage; the recipe's if not given (the paper: 5e-5)."""


class TinyBert(SingleTeacher):
    """First the teacher's attention and states, layer by layer; then its answers. `loss` raises AlloyError for another number of attention heads."""

    name = "tinybert"
    title = "TinyBERT: attention, states and embeddings first, then the teacher's outputs"
    reference = "Jiao et al. 2020"
    citation = (
        "Xiaoqi Jiao, Yichun Yin, Lifeng Shang, Xin Jiang, Xiao Chen, Linlin Li, Fang Wang, Qun Liu. TinyBERT: Distilling BERT "
        "for Natural Language Understanding. EMNLP Findings 2020."
    )
    Options = TinyBertOptions
    options: TinyBertOptions

    @property
    def needs(self) -> Needs:
        return Needs(
            self.options.which + 1,
            token_states=True,
            attention_scores=True,
            student_hidden_states=True,
            student_attention_scores=True,
        )

    def phases(self) -> tuple[Phase, ...]:
        o = self.options  # accuracy says nothing about the first stage: the head has not learnt yet
        first = Phase(LAYERS, o.layer_epochs, o.layer_learning_rate, select="last")
        return (first, Phase(ANSWERS))

    def layers(self, student: int, teacher: int) -> tuple[int, ...]:
        return (0, *uniform(student, teacher))

    def modules(self, context: Context) -> nn.ModuleDict:
        student_width, teacher_width = (
            context.student_shape.hidden_size,
            context.teachers[self.options.which].hidden_size,
        )
        return nn.ModuleDict({"map": nn.Linear(student_width, teacher_width, bias=False)})

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        return self.teachers_answer(rows, context, self.options.temperature)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        if inputs.phase.name == ANSWERS:
            found = soft_cross_entropy(inputs.target.targets, inputs.student.logits, self.options.temperature)
            return {"answers": inputs.target.weights * found}
        states, mask = self.states(inputs)
        widen = cast("nn.Linear", inputs.modules["map"])
        far = [masked_mse(widen(h.to(t.dtype)), t, mask) for h, t in zip(self.hidden(inputs), states, strict=True)]
        return {
            "attention": self._attention(inputs, mask),
            "hidden": torch.stack(far[1:]).sum(0),
            "embeddings": far[0],
        }

    def _attention(self, inputs: LossInputs, mask: Tensor) -> Tensor:
        """Eq. 7, over pairs of real tokens. [B]"""
        student, teacher = inputs.student.attention_scores, inputs.rows.teachers[self.options.which].attention_scores
        if student is None or teacher is None:
            raise TypeError("tinybert needs attention scores of student and teacher")
        if student[0].shape[1] != teacher[0].shape[1]:
            raise AlloyError(
                expected=f"a teacher with as many attention heads as the student ({student[0].shape[1]})",
                got=f"{teacher[0].shape[1]}",
                hint="Take a student or a teacher with the same number of heads, or a method that does not compare attention.",
            )
        pairs = (mask.unsqueeze(-1) * mask.unsqueeze(-2)).unsqueeze(1).bool()  # [B, 1, L, L]
        total = []
        for a, b in zip(student, teacher, strict=True):
            apart = (a.to(mask.dtype) - b.to(mask.dtype)).masked_fill(~pairs, 0) ** 2  # masked scores are huge
            total.append(apart.sum((-1, -2)).mean(1) / pairs.sum((1, 2, 3)).clamp(min=1))
        return torch.stack(total).sum(0)
