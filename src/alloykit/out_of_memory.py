"""Detect out-of-memory errors."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on a GPU or on the CPU."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    signs = ("can't allocate memory", "not enough memory", "MPS backend out of memory")
    return isinstance(error, RuntimeError) and any(sign in text for sign in signs)


def release_memory(device: torch.device) -> None:
    """Free the accelerator's memory that torch caches."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
