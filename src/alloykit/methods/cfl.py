"""CFL: common feature learning (Luo et al. 2019), as MUKA's baseline (MUKA §4.1).

Vanilla KD, plus in the last layer a common space: a = ReLU(A h) with an A for the student and one for each teacher, and a shared
extractor F (two linear layers):

    Σ_i MMD²(F a_s, F a_i) + Σ_i MSE(Dec_i(F a_i), h_i)

h is the mean of a text's last states over its real tokens (ours; the public code flattens over all tokens, padding included:
`features: tokens`). MMD² couples the texts of a batch.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from alloykit.losses.hidden import masked_mean, mse
from alloykit.losses.mmd import mmd2
from alloykit.methods.base import Context, Lesson, Needs
from alloykit.methods.features import FeatureOptions
from alloykit.methods.vanilla_kd import VanillaKD


class CFLOptions(FeatureOptions):
    features: Literal["pooled", "tokens"] = "pooled"
    """pooled: one feature per text, the mean over its tokens, from the store; tokens: one per token, padding included, from
    teachers kept in memory, as the public code has it."""


class CFL(VanillaKD):
    """The student's features follow the teachers' in a common space."""

    name = "cfl"
    title = "CFL: a common feature space, on top of Vanilla KD"
    reference = "Luo et al. 2019"
    citation = (
        "Sihui Luo, Xinchao Wang, Gongfan Fang, Yao Hu, Dapeng Tao, Mingli Song. Knowledge Amalgamation from Heterogeneous "
        "Networks by Common Feature Learning. IJCAI 2019."
    )
    Options = CFLOptions
    options: CFLOptions

    @property
    def needs(self) -> Needs:
        tokens = self.options.features == "tokens"
        return Needs(teachers=1, pooled_states=not tokens, token_states=tokens, student_hidden_states=True)

    @property
    def batch_coupled(self) -> bool:
        return True

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The last one of each teacher."""
        return tuple((t.layers,) for t in context.teachers)

    def modules(self, context: Context) -> nn.ModuleDict:
        width = context.student_shape.hidden_size
        common = max(1, width // 4)
        blocks = nn.ModuleDict(
            {
                "student": nn.Linear(width, common),
                "teachers": nn.ModuleList(nn.Linear(t.hidden_size, common) for t in context.teachers),
                "extract": nn.Sequential(nn.Linear(common, common), nn.ReLU(), nn.Linear(common, common)),
                "decode": nn.ModuleList(nn.Linear(common, t.hidden_size) for t in context.teachers),
            }
        )
        return blocks.requires_grad_(not self.options.frozen_blocks)

    def loss(self, lesson: Lesson) -> dict[str, Tensor]:
        blocks: Any = lesson.modules
        extract = blocks["extract"]
        own = extract(torch.relu(blocks["student"](self._student(lesson))))
        follow, rebuild = own.new_zeros(()), own.new_zeros(len(lesson.student.logits))
        for i, states in enumerate(self._teachers(lesson)):
            common = extract(torch.relu(blocks["teachers"][i](states)))
            follow = follow + mmd2(own, common)
            rebuilt = mse(blocks["decode"][i](common), states)
            rebuild = rebuild + rebuilt.view(len(rebuild), -1).mean(-1)
        weight = self.options.feature_weight
        return super().loss(lesson) | {"features": weight * follow, "reconstruction": weight * rebuild}

    def _student(self, lesson: Lesson) -> Tensor:
        """[B, d], or [B·L, d] for tokens."""
        student = lesson.student
        if student.hidden_states is None or student.attention_mask is None:
            raise TypeError("cfl needs the student's hidden states and attention mask")
        last = student.hidden_states[-1].to(_dtype(lesson))
        return last.flatten(0, 1) if self.options.features == "tokens" else masked_mean(last, student.attention_mask)

    def _teachers(self, lesson: Lesson) -> list[Tensor]:
        dtype = _dtype(lesson)
        if self.options.features == "tokens":
            return [
                t.token_states[0].to(dtype).flatten(0, 1) for t in lesson.rows.teachers if t.token_states is not None
            ]
        return [t.pooled_states[0].to(dtype) for t in lesson.rows.teachers if t.pooled_states is not None]


def _dtype(lesson: Lesson) -> torch.dtype:
    """Of the blocks: stored states are float16, and a student may compute in bfloat16."""
    return next(lesson.modules.parameters()).dtype
