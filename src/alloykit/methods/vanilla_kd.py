"""Vanilla knowledge distillation from the concatenated logits (Hinton et al. 2015; MUKA §4.1, "Vanilla KD")."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from alloykit.losses.kl import kl
from alloykit.methods.base import Context, Method, MethodOptions, Phase, StudentOutput, Supervision, uniform_weights
from alloykit.methods.ensemble import ensemble_logits
from alloykit.rows import Rows


class VanillaKDOptions(MethodOptions):
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the loss is multiplied by T²."""


class VanillaKD(Method):
    """Target softmax([z_1; …; z_N] / T), loss T² KL(target ‖ softmax(s / T))."""

    name = "vanilla_kd"
    title = "Vanilla KD on the ensemble's logits"
    reference = "Hinton et al. 2015"
    Options = VanillaKDOptions
    options: VanillaKDOptions

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        targets = torch.softmax(ensemble_logits(rows, context.space) / self.options.temperature, dim=-1)
        return Supervision(targets, uniform_weights(targets))

    def loss(
        self,
        student: StudentOutput,
        supervision: Supervision | None,
        rows: Rows,
        modules: nn.ModuleDict,
        context: Context,
        phase: Phase,
    ) -> dict[str, Tensor]:
        assert supervision is not None
        return {"kl": supervision.weights * kl(supervision.targets, student.logits, self.options.temperature)}
