"""Options that methods with losses on hidden states share."""

from __future__ import annotations

from pydantic import Field
from torch import nn

from alloykit.methods.vanilla_kd import VanillaKDOptions


class FeatureOptions(VanillaKDOptions):
    feature_weight: float = Field(1.0, ge=0)
    """Weight of the losses on hidden states beside the distillation loss (1 in MUKA's public code)."""
    frozen_blocks: bool = False
    """Leave the weight matrices of the additional blocks as they were drawn and train their biases alone, as MUKA's public code does by mistake."""


def frozen(blocks: nn.ModuleDict) -> nn.ModuleDict:
    """The same blocks, of which only the biases learn: what the optimiser of MUKA's public code is given of them."""
    for name, parameter in blocks.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    return blocks
