"""How right some answers are, in the form in which cells keep it."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from benchmarks.harness.summary import balanced

Bits = np.ndarray[Any, Any]


def scores(answers: Tensor, labels: Tensor, *, each: bool = False) -> dict[str, Any]:
    """Accuracy and balanced accuracy (the mean over the labels); with `each` also which answers are right, a bit for each text. [n] int64 both"""
    right = (answers == labels).numpy()
    found = {"accuracy": float(right.mean()), "balanced_accuracy": balanced(right, labels.numpy())}
    return found | ({"right": np.packbits(right).tobytes().hex()} if each else {})


def bits(text: str, n: int) -> Bits:
    """[n] bool, from the form of `scores`."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), count=n).astype(bool)
