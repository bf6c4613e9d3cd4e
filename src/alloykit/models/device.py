"""The device that models run on: one choice for teachers, student, evaluation and prediction."""

from __future__ import annotations

import torch

from alloykit.errors import AlloyError


def pick_device(wanted: str = "auto") -> str:
    """`auto`: cuda if there is one, else mps, else the CPU. AlloyError for a device that this machine does not have."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next((device for device, present in available.items() if present), "cpu")
    if not available.get(wanted, True):
        what = "a GPU" if wanted == "cuda" else "Apple's Metal (mps)"
        raise AlloyError(
            expected=f"{what} for `device: {wanted}`", got="none", hint="Set `device: auto` or `device: cpu`."
        )
    return wanted
