"""Maximum mean discrepancy between two sets of features (Gretton et al. 2012), as CFL uses it."""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.losses.distances import direction_distances

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


def mmd2(x: Tensor, y: Tensor) -> Tensor:
    """Biased squared MMD (V-statistic) of L2-normalised features, summed over five RBF kernels. [n, h], [m, h] → scalar, of the dtype of the distances.

    k(a, b) = Σ_s exp(−‖a − b‖² / (2 s σ²)), s ∈ {¼, ½, 1, 2, 4}; σ² is the mean squared distance, averaged over the pairs
    within x, within y and between them with weights ¼, ¼ and ½, and carries no gradient.
    """
    xx, yy, xy = direction_distances(x, x), direction_distances(y, y), direction_distances(x, y)
    sigma2 = ((xx.mean() + yy.mean() + 2 * xy.mean()) / 4).detach().clamp(min=1e-12)
    total = xx.new_zeros(())
    for scale in SCALES:
        k = [torch.exp(-d / (2 * scale * sigma2)).mean() for d in (xx, yy, xy)]
        total = total + k[0] + k[1] - 2 * k[2]
    return total.clamp(min=0)
