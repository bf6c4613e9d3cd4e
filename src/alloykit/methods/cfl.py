"""CFL: common feature learning (Luo et al. 2019), as MUKA's baseline (MUKA §4.1).

Vanilla KD, plus in the last layer a common space: a = ReLU(A h) with an A for the student and one for each teacher, and a shared
extractor F (two linear layers with a ReLU between them); decoders Dec_i of the same form:

    Σ_i MMD²(F a_s, F a_i) + Σ_i MSE(Dec_i(F a_i), h_i)

h_i is the mean of a text's last states over its real tokens (ours). With `features: tokens`, as in MUKA's public code, they are the states
of all L tokens, and a text is one point of the MMD: the L features of its tokens side by side, L · d/4 numbers for a student of width d. MMD² couples the texts of a batch.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from alloykit.losses.hidden import masked_mean, masked_mse
from alloykit.losses.mmd import mmd2
from alloykit.methods.hidden_options import FeatureOptions, frozen
from alloykit.methods.protocol import Context, LossInputs, Needs
from alloykit.methods.vanilla_kd import VanillaKD


class CFLOptions(FeatureOptions):
    features: Literal["pooled", "tokens"] = "pooled"
    """pooled: the feature of a text is that of the mean over its tokens, from the store; tokens: the features of its tokens side by
    side, from teachers kept in memory, as in MUKA's public code. Tokens without a counterpart, and padding, are left out (ours)."""


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
                "extract": _two_layers(common, common),
                "decode": nn.ModuleList(_two_layers(common, t.hidden_size) for t in context.teachers),
            }
        )
        return frozen(blocks) if self.options.frozen_blocks else blocks

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        blocks: Any = inputs.modules
        extract = blocks["extract"]
        extracted = extract(torch.relu(blocks["student"](self._student(inputs))))
        follow, rebuild = extracted.new_zeros(()), extracted.new_zeros(len(inputs.student.logits))
        for i, (states, mask) in enumerate(self._teachers(inputs)):
            common = extract(torch.relu(blocks["teachers"][i](states)))
            follow = follow + mmd2(_side_by_side(extracted, mask), _side_by_side(common, mask))
            rebuild = rebuild + masked_mse(blocks["decode"][i](common), states, mask)
        weight = self.options.feature_weight
        return super().loss(inputs) | {"features": weight * follow, "reconstruction": weight * rebuild}

    def _student(self, inputs: LossInputs) -> Tensor:
        """[B, L, d] for tokens; [B, 1, d] for the mean over them."""
        student = inputs.student
        if student.hidden_states is None or student.attention_mask is None:
            raise TypeError("cfl needs the student's hidden states and attention mask")
        last = student.hidden_states[-1].to(_dtype(inputs))
        return last if self.options.features == "tokens" else masked_mean(last, student.attention_mask).unsqueeze(1)

    def _teachers(self, inputs: LossInputs) -> list[tuple[Tensor, Tensor]]:
        """Per teacher the states [B, L, d_i] and which of them count [B, L]; L is 1 for pooled ones."""
        dtype, found = _dtype(inputs), []
        for t in inputs.rows.teachers:
            if self.options.features == "tokens":
                if t.token_states is None or t.token_mask is None:
                    raise TypeError("cfl needs the teachers' token states")
                found.append((t.token_states[0].to(dtype), t.token_mask))
            else:
                if t.pooled_states is None:
                    raise TypeError("cfl needs the teachers' pooled states")
                states = t.pooled_states[0].to(dtype).unsqueeze(1)
                found.append((states, states.new_ones(states.shape[:2])))
        return found


def _two_layers(width: int, out: int) -> nn.Sequential:
    """Two linear layers with a ReLU between them."""
    return nn.Sequential(nn.Linear(width, out), nn.ReLU(), nn.Linear(out, out))


def _side_by_side(features: Tensor, mask: Tensor) -> Tensor:
    """[B, L, h], [B, L] → [B, L·h], zeros where the mask is zero, so that the length of the padding changes no distance."""
    return (features * mask.to(features).unsqueeze(-1)).flatten(1)


def _dtype(inputs: LossInputs) -> torch.dtype:
    """Of the blocks: stored states are float16, and a student may compute in bfloat16."""
    return next(inputs.modules.parameters()).dtype
