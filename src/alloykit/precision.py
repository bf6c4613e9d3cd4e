"""Which floating-point numbers a machine is fast at."""

from __future__ import annotations

from typing import Literal

import torch

Precision = Literal["float32", "bfloat16"]


def choose_precision(wanted: Literal["auto", "float32", "bfloat16"], device: str) -> Precision:
    """`auto`: bfloat16 where the machine multiplies in it natively, else float32."""
    if wanted != "auto":
        return wanted
    return "bfloat16" if native_bfloat16(device) else "float32"


def native_bfloat16(device: str) -> bool:
    """Whether bfloat16 products are the fast ones: on a GPU, and on CPUs with AVX512-BF16 or AMX (twice float32's rate)."""
    if device == "cuda":
        return True
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name for them
    return any(getattr(torch.cpu, check, bool)() for check in checks)
