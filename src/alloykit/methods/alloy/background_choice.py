"""Whether a mixture has a background, decided without labels (ours: Alloy, Eq. 20).

    remoteness = min_c d(μ_0, μ_c) / median_c min_{c' ≠ c} d(μ_c, μ_c')          d: Mahalanobis, by Σ
    kept = share of the rarest quarter of the labels with a background / the same share without
    the background is used if remoteness · kept ≥ 0.9                                                                          (20)

Without a background, many foreign texts can pull the labels apart in the wrong direction: one teacher gets all foreign texts. With one, a label that teachers
do know can be lost to it. In the first case the background is farther from the labels than they are from one another, and no label gets rarer by it.
In the second case a label loses most of its texts, or the background lies among the labels.

Shares are of the texts that are not background. Labels with less than a fifth of the mean share have no distance. Of fewer than four labels the rarest one is
the quarter.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.mixture import Anchors, LabelMixture, View

MIN_MEASURE = 0.9
RAREST = 4  # one in so many labels
MIN_RELATIVE_SHARE = 0.2  # of the mean share: labels that have a distance


@dataclass(frozen=True)
class Chosen:
    """The mixture that is used, and what decided it; both measures are 0 where no background was tried or none could be measured."""

    mixture: LabelMixture
    remoteness: float = 0.0
    kept: float = 0.0


def choose_mixture(
    view: View, owners: Tensor, anchors: Anchors | None, *, background: bool | None, least: int
) -> Chosen:
    """background: whether the mixture has one; None: by Eq. 20. least: texts that must be left outside of the background."""
    plain = LabelMixture.fit(view, owners, anchors)
    if background is False:
        return Chosen(plain)
    found = LabelMixture.fit(view, owners, anchors, background=True)
    outside = 1 - found.background_share(view, owners)
    far, kept = 0.0, 0.0
    if int((outside > 0.5).sum()) >= least:
        with_one = outside @ torch.softmax(found.scores(view, owners), -1)
        far = _remoteness(found, with_one)
        kept = _rarest(with_one) / max(_rarest(torch.softmax(plain.scores(view, owners), -1).sum(0)), 1e-12)
        if background or far * kept >= MIN_MEASURE:
            return Chosen(found, far, kept)
    return Chosen(plain, far, kept)


def _remoteness(mixture: LabelMixture, counts: Tensor) -> float:
    """counts [C]: texts of the labels outside of the background."""
    assert mixture.background is not None
    means = mixture.means[counts > MIN_RELATIVE_SHARE * counts.mean()]
    if len(means) < 2:
        return 0.0
    points = torch.linalg.solve_triangular(
        mixture.factor, torch.cat([means, mixture.background.center[None]]).T, upper=False
    ).T
    apart = torch.cdist(points, points)
    between = apart[:-1, :-1] + torch.full((len(means),), torch.inf, dtype=apart.dtype).diag()
    return float(apart[-1, :-1].min() / between.amin(-1).quantile(0.5).clamp(min=1e-12))


def _rarest(counts: Tensor) -> float:
    """The share of the rarest quarter of the labels."""
    shares = (counts / counts.sum()).sort().values
    return float(shares[: max(1, len(shares) // RAREST)].mean())
