"""The number format that a frozen model computes in: float32, bfloat16, or 8-bit integers in its linear layers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from alloykit.precision import Precision, choose_precision


@dataclass(frozen=True)
class ComputeFormat:
    """precision: of weights and activations. int8: linear layers in 8 bits, with a scale for the activations of each batch (CPU
    only); other layers in float32. compile: with torch.compile."""

    precision: Precision = "float32"
    int8: bool = False
    compile: bool = False

    @property
    def name(self) -> str:
        """float32, bfloat16 or int8: what the store records."""
        return "int8" if self.int8 else self.precision

    def of(self, config: Any) -> ComputeFormat:
        """The format for one model. It is float32 for an architecture that does not compute in bfloat16."""
        return replace(self, precision=choose_precision(self.precision, "", config.model_type))


def in_compute_format(model: Any, compute_format: ComputeFormat) -> Any:
    """The model, or a changed copy of it, in this format."""
    if compute_format.int8:
        each_channel = torch.ao.quantization.per_channel_dynamic_qconfig  # one scale per output
        with warnings.catch_warnings():  # torch warns that this will move to another package
            warnings.simplefilter("ignore")
            model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear: each_channel})
    else:
        model = model.to(getattr(torch, compute_format.precision))
    return torch.compile(model, dynamic=True) if compute_format.compile else model
