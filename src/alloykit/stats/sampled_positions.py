"""Sample some of many positions without replacement."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

FEW = 1 << 18  # positions that may be shuffled in memory


def sampled_positions(n: int, size: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """`size` of n positions in random order, [size] int64; all of them if there are no more. Of more than `FEW` positions, memory holds only those
    that are sampled, if they are at most an eighth."""
    if n <= FEW or size > n // 8:
        return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:size].numpy()
    found = np.random.default_rng(seed).integers(0, n, 2 * size)
    return found[np.sort(np.unique(found, return_index=True)[1])][:size]
