"""MT-BERT: one student from several co-finetuned teachers (Wu et al. 2021).

    L_MT-Hid = Σ_i Σ_{j=1}^{K} MSE(H^s_j, W_ij H^i_{Tj})                        (Eq. 1)
    L_MT-Dis = Σ_i CE(softmax(z_i / t), softmax(s / t)) / (1 + CE(y, y_i))      (Eq. 2), t = 1, no t²
    L = L_MT-Hid + L_MT-Dis + CE(y, q)                                          (Eq. 3)

K: the student's layers (the inner sum of Eq. 1 is printed up to T). Student layer j is compared with teacher layer ⌈j L_i / K⌉, which
is T j where depths divide (ours otherwise). Tokens of other tokenizers are aligned by characters. W_ij is on the teacher's
side, so both sides could shrink together: the size of the mapped states is noted in the training's history (ours). They begin as the
identity (ours): a random W first drags a pre-trained student's states away from what they know, and short trainings do not recover.
Teachers are made by `alloykit teach --together` (§2.1); others work, less well aligned (Fig. 4).
"""

from __future__ import annotations

from typing import cast

import torch
from pydantic import Field
from torch import Tensor, nn

from alloykit.losses.hidden import masked_mse
from alloykit.methods.distillation import label_loss, mixture, soft_cross_entropy, teacher_losses
from alloykit.methods.layers import uniform
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Needs, Step, Supervision
from alloykit.outputs import Rows


class MTBertOptions(MethodOptions):
    temperature: float = Field(1.0, gt=0)
    """t of Eq. 2, without t² (the paper: 1)."""
    weighted: bool = True
    """Divide a teacher's distillation loss by 1 + its own loss on the label; Fig. 4 leaves it out."""
    hidden: bool = True
    """L_MT-Hid; Fig. 5 leaves it out."""
    distillation: bool = True
    """L_MT-Dis; Fig. 5 leaves it out."""
    task: bool = True
    """CE(y, q); Fig. 5 leaves it out."""


class MTBert(Method):
    """Hidden states and answers of all teachers, weighed by how well each knows the label."""

    name = "mt_bert"
    title = "MT-BERT: states and answers of several co-finetuned teachers, with labels"
    reference = "Wu et al. 2021"
    citation = (
        "Chuhan Wu, Fangzhao Wu, Yongfeng Huang. One Teacher is Enough? Pre-trained Language Model Distillation from Multiple "
        "Teachers. Findings of ACL 2021."
    )
    Options = MTBertOptions
    options: MTBertOptions
    one_task = True
    target_reads_labels = True

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, token_states=self.options.hidden, student_hidden_states=self.options.hidden)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """⌈j L_i / K⌉ for the student's layers j = 1..K."""
        if not self.options.hidden:
            return super().teacher_layers(context)
        return tuple(uniform(context.student_shape.layers, t.layers) for t in context.teachers)

    def modules(self, context: Context) -> nn.ModuleDict:
        """W_ij, one for each teacher and student layer; at first the identity, as far as widths go."""
        if not self.options.hidden:
            return nn.ModuleDict()
        student = context.student_shape
        maps = [
            nn.ModuleList(_identity(t.hidden_size, student.hidden_size) for _ in range(student.layers))
            for t in context.teachers
        ]
        return nn.ModuleDict({"maps": nn.ModuleList(maps)})

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        """The target of Eq. 2 as one distribution, Σ_i ω_i p_i / Σ ω, and its weight Σ ω, ω_i = 1 / (1 + CE(y, y_i))."""
        losses = teacher_losses(rows, context.space)
        omega = 1 / (1 + losses) if self.options.weighted else torch.ones_like(losses)
        if (answered := rows.counts()) is not None:
            omega = omega * answered.to(omega)
        shares = rows.weighed(torch.where(omega.sum(-1, keepdim=True) > 0, omega, 1.0))
        shares = shares / shares.sum(-1, keepdim=True)
        targets = mixture(shares, rows, context.space, self.options.temperature)
        return Supervision(targets, omega.sum(-1), shares)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = {}
        if self.options.hidden:
            terms["hidden"] = hidden_loss(inputs)
        if self.options.distillation:
            from_teachers = soft_cross_entropy(inputs.target.targets, inputs.student.logits / self.options.temperature)
            terms["distillation"] = inputs.target.weights * from_teachers
        if self.options.task:
            terms["ce"] = label_loss(inputs)
        return terms

    @property
    def several_processes(self) -> bool:
        return not self.batch_coupled  # after_step only notes numbers, of process 0's share

    def after_step(self, step: Step) -> None:
        """Note the mean square of the mapped states: were it to fall towards zero, both sides of Eq. 1 would be shrinking."""
        if step.logs and self.options.hidden:
            sizes = [
                (wide(states.to(wide.weight.dtype)) ** 2).mean() for wide, states in mapped(step.modules, step.rows[-1])
            ]
            step.log({"mapped_size": float(torch.stack(sizes).mean())})


def _identity(width: int, to: int) -> nn.Linear:
    linear = nn.Linear(width, to, bias=False)
    nn.init.eye_(linear.weight)
    return linear


def hidden_loss(inputs: LossInputs) -> Tensor:
    """Eq. 1 over real tokens, per text: [B]."""
    hidden = inputs.student.hidden_states
    if hidden is None:
        raise TypeError("mt_bert needs the student's hidden states")
    masks = [t.token_mask for t in inputs.rows.teachers for _ in hidden[1:]]
    student_states = list(hidden[1:]) * len(inputs.rows.teachers)
    total = []
    for mask, states, (wide, theirs) in zip(masks, student_states, mapped(inputs.modules, inputs.rows), strict=True):
        assert mask is not None
        dtype = wide.weight.dtype
        total.append(masked_mse(states.to(dtype), wide(theirs.to(dtype)), mask))
    return torch.stack(total).sum(0)


def mapped(modules: nn.ModuleDict, rows: Rows) -> list[tuple[nn.Linear, Tensor]]:
    """W_ij and H^i_Tj, teacher by teacher, layer by layer."""
    maps = cast("list[list[nn.Linear]]", modules["maps"])
    found = []
    for teacher, per_layer in zip(rows.teachers, maps, strict=True):
        if teacher.token_states is None:
            raise TypeError("mt_bert needs the teachers' token states")
        found += list(zip(per_layer, teacher.token_states, strict=True))
    return found
