"""DFA: layer-wise feature amalgamation (Shen et al. 2019), as MUKA's baseline (MUKA §4.1).

Vanilla KD, plus, summed over the student's layers l ↔ teacher layer ⌈l L_i / L_s⌉:

    r_l = E_l [h_{1,l}; …; h_{N,l}]          merged states
    [ĥ_{1,l}; …; ĥ_{N,l}] = D_l r_l          reconstructed
    Σ_l [MSE(P_l h^s_l, stopgrad r_l) + Σ_i MSE(ĥ_{i,l}, h_{i,l})]

E, D, P are linear. Token states of other tokenizers are aligned by characters (knowledge/online/token_alignment.py); padding and tokens
without a counterpart are left out. Means over tokens are per text, so that texts do not influence each other (ours).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from alloykit.losses.hidden import masked_mse
from alloykit.methods.hidden_options import FeatureOptions, frozen
from alloykit.methods.layers import uniform
from alloykit.methods.protocol import Context, LossInputs, Needs
from alloykit.methods.vanilla_kd import VanillaKD


class DFA(VanillaKD):
    """The student follows the merged states of all teachers, layer by layer."""

    name = "dfa"
    title = "DFA: merged teacher states, layer by layer, on top of Vanilla KD"
    reference = "Shen et al. 2019"
    citation = (
        "Chengchao Shen, Xinchao Wang, Jie Song, Li Sun, Mingli Song. Amalgamating Knowledge towards Comprehensive "
        "Classification. AAAI 2019."
    )
    Options = FeatureOptions
    options: FeatureOptions

    @property
    def needs(self) -> Needs:
        return Needs(teachers=1, token_states=True, student_hidden_states=True)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """⌈l L_i / L_s⌉ for the student's layers l = 1..L_s, also for teachers that are shallower than the student."""
        depth = context.student_shape.layers
        return tuple(uniform(depth, t.layers) for t in context.teachers)

    def modules(self, context: Context) -> nn.ModuleDict:
        student, wide = context.student_shape, sum(t.hidden_size for t in context.teachers)
        blocks = nn.ModuleDict(
            {
                kind: nn.ModuleList(nn.Linear(a, b) for _ in range(student.layers))
                for kind, (a, b) in {
                    "merge": (wide, student.hidden_size),
                    "reconstruct": (student.hidden_size, wide),
                    "project": (student.hidden_size, student.hidden_size),
                }.items()
            }
        )
        return frozen(blocks) if self.options.frozen_blocks else blocks

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        student, blocks = inputs.student, cast("Mapping[str, nn.ModuleList]", inputs.modules)
        dtype = next(inputs.modules.parameters()).dtype  # a student may compute in bfloat16
        if student.hidden_states is None:
            raise TypeError("dfa needs the student's hidden states")
        mask = torch.stack([t.token_mask for t in inputs.rows.teachers if t.token_mask is not None]).all(0)
        depth = inputs.context.student_shape.layers
        follow, rebuild = [], []
        for layer in range(depth):
            states = [t.token_states[layer].to(dtype) for t in inputs.rows.teachers if t.token_states is not None]
            together = torch.cat(states, -1)
            merged = blocks["merge"][layer](together)
            rebuilt = blocks["reconstruct"][layer](merged).split([s.shape[-1] for s in states], -1)
            projected = blocks["project"][layer](student.hidden_states[layer + 1].to(dtype))
            follow.append(masked_mse(projected, merged.detach(), mask))
            rebuild.append(torch.stack([masked_mse(a, b, mask) for a, b in zip(rebuilt, states, strict=True)]).sum(0))
        weight = self.options.feature_weight
        return super().loss(inputs) | {
            "features": weight * torch.stack(follow).sum(0),
            "reconstruction": weight * torch.stack(rebuild).sum(0),
        }
