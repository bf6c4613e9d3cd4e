"""How unusual a text is for the student: the score `none of these` (after Lee et al. 2018), in float64.

    d(z) = min_c (z − μ_c)ᵀ Σ⁻¹ (z − μ_c)

z is what the student's classification head reads. μ_c is the mean of the pool's texts that the student labels c, and Σ the covariance that all
labels share. The score is the share of texts with a smaller d among texts of the pool that the student did not learn from:
the states of texts that it learned from are much closer to their mean than those of any new text. Between two of these texts' distances
the share is interpolated; above the largest, r, it is 1 − r / (d (m + 1)), so that no two distances have the same share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.stats.mahalanobis import Gaussians

UNUSUAL = 0.95
"""From here on a text counts as unusual: about 5 % of new texts of the pool's kind do."""
ENOUGH = 10  # texts that the student did not learn from; with fewer, all texts are compared with
FLOOR = 1e-4  # of the states' variance, added to Σ: labels with one text each leave it 0


@dataclass(frozen=True)
class NoneOfThese:
    """The Gaussians of the labels, and the distances [m] float64, ascending, with which those of new texts are compared.
    unseen: [] bool, whether the student did not learn from the texts that these distances are of."""

    gaussians: Gaussians
    reference: Tensor
    unseen: Tensor

    @classmethod
    def fit(cls, states: Tensor, predicted: Tensor, unseen: Tensor) -> NoneOfThese | None:
        """states [n, d] of texts of the pool; predicted [n] int64, the student's labels; unseen [n] bool, texts that it did not
        learn from. None if the states are all the same."""
        everything = torch.ones_like(unseen)
        apart = int(unseen.sum()) >= ENOUGH and int((~unseen).sum()) > 1
        fitted, compared = (~unseen, unseen) if apart else (everything, everything)
        z = states[fitted].double()
        variance = float(z.var(0, correction=0).mean())
        if not variance > 0:
            return None
        classes = torch.unique(predicted[fitted], return_inverse=True)[1]
        gaussians = Gaussians.fit(z, classes, floor=FLOOR * variance)
        reference = gaussians.distance(states[compared]).sort().values
        return cls(gaussians, reference, torch.tensor(apart))

    @property
    def width(self) -> int:
        """d."""
        return self.gaussians.means.shape[1]

    def share(self, distances: Tensor) -> Tensor:
        """The score of texts with these distances d: [n] → [n] float64, from 0 to 1."""
        d, m = distances.double(), len(self.reference)
        edges = torch.cat([torch.zeros(1, dtype=torch.float64), self.reference])
        below = torch.searchsorted(edges, d, right=True) - 1  # the number of texts with a distance of at most d
        low, high = edges[below], edges[(below + 1).clamp(max=m)]
        part = torch.where(below < m, (d - low) / (high - low), 1 - self.reference[-1] / d)
        return (below + part.nan_to_num(0.0)) / (m + 1)

    def state(self) -> dict[str, Tensor]:
        """As named tensors."""
        return self.gaussians.state("gaussians") | {"reference": self.reference, "unseen": self.unseen}

    @classmethod
    def of(cls, state: Mapping[str, Tensor]) -> NoneOfThese:
        """From named tensors. KeyError or ValueError for other ones."""
        found = cls(Gaussians.of(state, "gaussians", torch.device("cpu")), state["reference"], state["unseen"])
        g, d = found.gaussians, found.gaussians.means.shape[-1]
        shapes = [t.shape for t in (g.factor, g.background, g.mean, found.unseen)]
        fits = (
            shapes == [(d, d), (d, d), (d,), ()] and g.means.dim() == 2 and len(g.means) and found.reference.dim() == 1
        )
        if not fits or not len(found.reference) or found.unseen.dtype != torch.bool:
            raise ValueError("tensors of other shapes or types")
        if not all(bool(t.isfinite().all()) and t.dtype == torch.float64 for t in (*vars(g).values(), found.reference)):
            raise ValueError("values that are not finite, or not in float64")
        return found
