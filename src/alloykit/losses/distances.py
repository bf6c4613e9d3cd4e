"""Squared distances between directions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def direction_distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a/‖a‖ − b/‖b‖‖² = 2 − 2 cos, [n, m], at least 0; float32, or float64 for float64. a: [n, h], b: [m, h].

    Similar features leave few digits of the difference, so nothing is computed in bfloat16, also where a training does.
    """
    exact = torch.promote_types(a.dtype, torch.float32)
    with torch.autocast(a.device.type, enabled=False):
        x, y = functional.normalize(a.to(exact), dim=-1), functional.normalize(b.to(exact), dim=-1)
        return (2 - 2 * x @ y.T).clamp(min=0)
