"""Vanilla knowledge distillation from the concatenated logits (Hinton et al. 2015; MUKA §4.1, "Vanilla KD")."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from alloykit.losses.kl import kl
from alloykit.methods.ensemble import NONE, ensemble_logits, mixed, scale_warnings
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Supervision, uniform_weights
from alloykit.outputs import Rows


class VanillaKDOptions(MethodOptions):
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the loss is multiplied by T²."""


class VanillaKD(Method):
    """Target softmax([z_1; …; z_N] / T), loss T² KL(target ‖ softmax(s / T))."""

    name = "vanilla_kd"
    title = "Vanilla KD on the ensemble's logits"
    reference = "Hinton et al. 2015"
    citation = "Geoffrey Hinton, Oriol Vinyals, Jeff Dean. Distilling the Knowledge in a Neural Network. 2015."
    softened_by = "temperature"
    Options = VanillaKDOptions
    options: VanillaKDOptions

    def warnings(self, context: Context) -> list[str]:
        return scale_warnings(context)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        z = ensemble_logits(rows, context.space, log_probabilities=mixed(context))
        # NONE / T can be infinite, and the softmax of a text without any answer would be nan.
        targets = torch.softmax((z / self.options.temperature).clamp(min=NONE), dim=-1)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        return {
            "kl": inputs.target.weights * kl(inputs.target.targets, inputs.student.logits, self.options.temperature)
        }
