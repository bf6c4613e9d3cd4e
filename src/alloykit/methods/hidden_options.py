"""Options that methods with losses on hidden states share."""

from __future__ import annotations

from pydantic import Field
from torch import nn

from alloykit.methods.vanilla_kd import VanillaKDOptions


class FeatureOptions(VanillaKDOptions):
    feature_weight: float = Field(1.0, ge=0)
    """Weight of the losses on hidden states beside the distillation loss (1 in MUKA's public code)."""
    frozen_blocks: bool = False
    """Keep the random weight matrices of the additional blocks and train only their biases, as MUKA's public code does by mistake."""


def frozen(blocks: nn.ModuleDict) -> nn.ModuleDict:
    """The same blocks with only the biases trained, as in MUKA's public code, which gives the optimiser nothing else of them."""
    for name, parameter in blocks.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    return blocks
