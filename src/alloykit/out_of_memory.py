"""How a lack of memory shows."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it is memory that ran out: a GPU's, torch's on a CPU, or numpy's."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    signs = ("can't allocate memory", "not enough memory", "MPS backend out of memory")
    return isinstance(error, RuntimeError) and any(sign in text for sign in signs)


def release_memory(device: torch.device) -> None:
    """Give back what torch keeps of an accelerator's memory for later."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
