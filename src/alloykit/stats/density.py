"""Density as confidence: how similar a text's early states are to those of a teacher's most confident texts (ours, after Ren et al. 2021).

For each teacher i and early layer l there are Gaussians of its predicted classes, fitted to its most confident texts (a share 0.8 / N of the
pool, by the entropy of its outputs), and one Gaussian of the whole pool:

    s_i(x) = Σ_l −RMD_i^l(x) / sd_l          c_i(x) = σ((s_i − mean) / sd), over the pool
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from alloykit.stats.mahalanobis import Gaussians

CONFIDENT_SHARE = 0.8  # of the pool, divided by the number of teachers
FLOOR = 0.01  # of the pool's variance, added because few similar texts give too small a variance


def fit_density(states: Sequence[Tensor], classes: Tensor, confidence: Tensor, teachers: int) -> dict[str, Tensor]:
    """The density of one teacher, as named tensors. states: per layer [n, d]. classes: [n] int64, the predicted classes. confidence: [n]."""
    n = len(confidence)
    confident = confidence.argsort(descending=True, stable=True)[: max(2, round(CONFIDENT_SHARE / teachers * n))]
    _, positions = torch.unique(classes[confident], return_inverse=True)
    fitted: dict[str, Tensor] = {}
    total = torch.zeros(n, dtype=torch.float64)
    for layer, z in enumerate(states):
        whole = Gaussians.fit(z, torch.zeros(n, dtype=torch.long))
        gaussians = replace(
            Gaussians.fit(
                z[confident], positions, floor=FLOOR * float(z.double().var(0, correction=min(1, n - 1)).mean())
            ),
            mean=whole.mean,
            background=whole.background,
        )
        scores = _scores(gaussians, z)
        spread = _deviation(scores)
        total += scores / spread
        fitted |= gaussians.state(f"{layer}") | {f"{layer}.deviation": spread}
    return fitted | {"mean": total.mean(), "spread": _deviation(total)}


def density(states: Sequence[Tensor], fitted: Mapping[str, Tensor]) -> Tensor:
    """c_i of any texts. states: per layer [B, d] → [B] float64 in [0, 1]."""
    device = states[0].device
    total = torch.zeros(len(states[0]), dtype=torch.float64, device=device)
    for layer, z in enumerate(states):
        total += _scores(Gaussians.of(fitted, f"{layer}", device), z) / fitted[f"{layer}.deviation"].to(device)
    return torch.sigmoid((total - fitted["mean"].to(device)) / fitted["spread"].to(device))


def _deviation(values: Tensor) -> Tensor:
    """The standard deviation, [], at least 1e-9, also of one text."""
    return values.std(correction=min(1, len(values) - 1)).clamp(min=1e-9)


def _scores(gaussians: Gaussians, z: Tensor) -> Tensor:
    """−RMD. The background is the whole pool's, so that it differs from the class also if there is a single class."""
    return gaussians.background_distance(z) - gaussians.distance(z)
