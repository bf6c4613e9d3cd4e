"""Choose between float32 and bfloat16 for a machine."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Precision = Literal["float32", "bfloat16"]
# MRA's sparse products, FNet's Fourier transform and X-MOD's adapters do not compute in bfloat16.
FLOAT32_ONLY = {"fnet", "mra", "xmod"}
# DeBERTa (not its later versions) computes with weights in bfloat16, but not under torch's autocast, which training uses.
NO_AUTOCAST = {"deberta"}
Wanted = Literal["auto", "float32", "bfloat16"]


def choose_training_precision(wanted: Wanted, device: str, architecture: str) -> Precision:
    """The same as `choose_precision`, for a model with weights in float32 that computes under torch's autocast."""
    return "float32" if architecture in NO_AUTOCAST else choose_precision(wanted, device, architecture)


def choose_precision(wanted: Wanted, device: str, architecture: str = "") -> Precision:
    """`auto`: bfloat16 if the device multiplies it natively, else float32. architecture: the model's `model_type`; some compute in float32 only."""
    if architecture in FLOAT32_ONLY:
        return "float32"
    if wanted != "auto":
        return wanted
    return "bfloat16" if native_bfloat16(device) else "float32"


def native_bfloat16(device: str) -> bool:
    """Whether bfloat16 is faster than float32: on a GPU, and (twice as fast) on CPUs with AVX512-BF16 or AMX."""
    if device == "cuda":
        return True
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name for them
    return any(getattr(torch.cpu, check, bool)() for check in checks)


def stored_states(states: Tensor) -> Tensor:
    """Pooled states of texts as they are stored: float16, of the same shape. Larger values become the largest of float16: some architectures, such as
    Gemma 3 and MobileBERT, have a few dimensions with states beyond it. NaN stays NaN."""
    most = torch.finfo(torch.float16).max
    return states.clamp(-most, most).to(torch.float16)
