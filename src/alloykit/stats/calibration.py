"""Make the confidences of different teachers comparable, with the unlabelled pool only (ours).

Normalised entropy is not comparable between very different numbers of labels: with probability 0.9 for the top class, c is .53
for two classes and .82 for fifty. Both calibrations are fitted per teacher on its confidences over the pool.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

CLIP = 1e-6
QUANTILES = 1001


def fit_percentile(confidence: Tensor) -> Tensor:
    """The pool's quantiles of one teacher's confidence. [n] → [1001] float64, ascending."""
    levels = torch.linspace(0, 1, QUANTILES, dtype=torch.float64)
    return torch.from_numpy(np.quantile(confidence.double().numpy(), levels.numpy()))


def percentile_confidence(confidence: Tensor, quantiles: Tensor) -> Tensor:
    """The share of the pool that is less confident (ties count half). [B], [1001] → [B] in [0, 1], monotone."""
    c = confidence.double().contiguous()
    below = torch.searchsorted(quantiles, c, right=False)
    upto = torch.searchsorted(quantiles, c, right=True)
    return (below + upto).double() / (2 * len(quantiles))


def fit_mixture(confidence: Tensor) -> Tensor:
    """Two Gaussians with one variance on logit(c): "knows this text" and "does not". [n] → [2] float64, a and b.

    With a shared variance the posterior of the more confident component is σ(a · logit(c) + b), which is monotone in c.
    If all confidences of the pool are equal, a = 1 and b = 0, which gives the confidence itself.
    """
    from sklearn.mixture import GaussianMixture

    x = _logit(confidence).numpy()[:, None]
    if len(x) < 2 or float(x.std()) < 1e-9:
        return torch.tensor([1.0, 0.0], dtype=torch.float64)
    fitted = GaussianMixture(2, covariance_type="tied", random_state=0, n_init=3, reg_covar=1e-6).fit(x)
    low, high = np.argsort(fitted.means_[:, 0])
    variance = float(fitted.covariances_[0, 0])
    m0, m1 = float(fitted.means_[low, 0]), float(fitted.means_[high, 0])
    w0, w1 = float(fitted.weights_[low]), float(fitted.weights_[high])
    slope = (m1 - m0) / variance
    offset = (m0**2 - m1**2) / (2 * variance) + float(np.log(w1 / w0))
    return torch.tensor([slope, offset], dtype=torch.float64)


def mixture_confidence(confidence: Tensor, coefficients: Tensor) -> Tensor:
    """P(the teacher knows this text | c) = σ(a · logit(c) + b). [B], [2] → [B] float64 in [0, 1]."""
    return torch.sigmoid(coefficients[0] * _logit(confidence) + coefficients[1])


def _logit(confidence: Tensor) -> Tensor:
    return torch.logit(confidence.double().clamp(CLIP, 1 - CLIP))
