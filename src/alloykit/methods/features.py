"""Options that methods with losses on hidden states share."""

from __future__ import annotations

from pydantic import Field

from alloykit.methods.vanilla_kd import VanillaKDOptions


class FeatureOptions(VanillaKDOptions):
    feature_weight: float = Field(1.0, ge=0)
    """Weight of the losses on hidden states beside the distillation loss (ours)."""
    frozen_blocks: bool = False
    """Leave the additional blocks as they were drawn: the handicap of MUKA's public code, whose optimiser never sees them."""
