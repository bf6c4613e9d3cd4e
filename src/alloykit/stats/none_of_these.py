"""How unusual a text is for the student: the score `none of these`, in float64.

    d(z) = min_c (z − μ_c)ᵀ Σ⁻¹ (z − μ_c)                     the distance to the nearest label (after Lee et al. 2018)
    u(z) = 1 / Σ_c exp(w_c z + b_c)                           exp(−energy) (after Liu et al. 2020); 1 / Σ_c log(1 + exp(w_c z + b_c)) for a
                                                              multi-label student (after Wang et al. 2021)
    s(z) = max(share of smaller d, share of smaller u)        ours
    score(z) = the share of smaller s

z is what the student's classification head, w and b, reads. μ_c is the mean of the pool's texts that the student labels c, and Σ the covariance that
all labels share. All three shares are of texts of the pool that the student did not learn from: the states of texts that it learned from are
much closer to their mean than those of any new text. Between two of these texts' values a share is interpolated; above the largest, r, it is
1 − r / (v (m + 1)), so that no two values v have the same share. s counts as s / (1 − s) there, which has no largest value.

Neither measure is enough alone. If the pool has many foreign texts, they move μ and Σ, and d no longer detects such texts. If the pool has none, d detects
them better than u.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from alloykit.stats.mahalanobis import Gaussians

UNUSUAL = 0.95
"""From here on a text counts as unusual: about 5 % of new texts of the pool's kind do."""
ENOUGH = 10  # texts that the student did not learn from; with fewer, all texts are compared with
MOST = 700.0  # of an energy: its exp is finite in float64
FLOOR = 1e-4  # of the states' variance, added to Σ: labels with one text each leave it 0


@dataclass(frozen=True)
class NoneOfThese:
    """The Gaussians of the labels, the student's head, and d and u [m, 2] float64 of the texts with which new ones are compared.

    weight [C, d] and bias [C], float64: w and b. multi_label: [] bool, whether the student may give several labels. unseen: [] bool, whether
    the student did not learn from the texts with which new ones are compared."""

    gaussians: Gaussians
    weight: Tensor
    bias: Tensor
    multi_label: Tensor
    reference: Tensor
    unseen: Tensor

    @classmethod
    def fit(
        cls, states: Tensor, predicted: Tensor, unseen: Tensor, head: nn.Linear, *, multi_label: bool = False
    ) -> NoneOfThese | None:
        """states [n, d] of texts of the pool; predicted [n] int64, the student's labels, or other groups; unseen [n] bool, texts that it did
        not learn from; head: the layer that reads the states. None if the states are all the same."""
        everything = torch.ones_like(unseen)
        apart = int(unseen.sum()) >= ENOUGH and int((~unseen).sum()) > 1
        fitted, compared = (~unseen, unseen) if apart else (everything, everything)
        z = states[fitted].double()
        variance = float(z.var(0, correction=0).mean())
        if not variance > 0:
            return None
        classes = torch.unique(predicted[fitted], return_inverse=True)[1]
        gaussians = Gaussians.fit(z, classes, floor=FLOOR * variance)
        weight = head.weight.detach().cpu().double()
        bias = weight.new_zeros(len(weight)) if head.bias is None else head.bias.detach().cpu().double()
        without = cls(gaussians, weight, bias, torch.tensor(multi_label), weight.new_zeros(0, 2), torch.tensor(apart))
        return replace(without, reference=without.measures(states[compared]))

    @property
    def width(self) -> int:
        """d."""
        return self.gaussians.means.shape[1]

    def measures(self, states: Tensor) -> Tensor:
        """d and u of texts with these states: [n, d] → [n, 2] float64."""
        logits = states.double() @ self.weight.T + self.bias
        energy = softplus(logits).sum(-1).log() if self.multi_label else logits.logsumexp(-1)
        u = (-energy.clamp(-MOST, MOST)).exp()
        return torch.stack([self.gaussians.distance(states), u], -1)

    def score(self, measures: Tensor) -> Tensor:
        """The score of texts with these d and u: [n, 2] → [n] float64, from 0 to 1."""
        largest, of_reference = self._largest(measures.double()), self._largest(self.reference)
        return _share(_odds(largest), _odds(of_reference))

    def _largest(self, measures: Tensor) -> Tensor:
        """s, [n]."""
        each = zip(measures.unbind(-1), self.reference.unbind(-1), strict=True)
        return torch.stack([_share(values, reference) for values, reference in each]).amax(0)

    def state(self) -> dict[str, Tensor]:
        """As named tensors."""
        own = {name: value for name, value in vars(self).items() if name != "gaussians"}
        return self.gaussians.state("gaussians") | own

    @classmethod
    def of(cls, state: Mapping[str, Tensor]) -> NoneOfThese:
        """From named tensors. KeyError or ValueError for other ones."""
        own = {name: state[name] for name in ("weight", "bias", "multi_label", "reference", "unseen")}
        found = cls(Gaussians.of(state, "gaussians", torch.device("cpu")), **own)
        g, d, labels = found.gaussians, found.gaussians.means.shape[-1], len(found.bias)
        numbers = [*vars(g).values(), found.weight, found.bias, found.reference]
        shapes = [
            t.shape for t in (g.factor, g.background, g.mean, found.weight, found.bias, found.multi_label, found.unseen)
        ]
        fits = (
            shapes == [(d, d), (d, d), (d,), (labels, d), (labels,), (), ()]
            and g.means.dim() == 2
            and len(g.means)
            and found.reference.shape == (len(found.reference), 2)
        )
        if not fits or not len(found.reference) or {found.unseen.dtype, found.multi_label.dtype} != {torch.bool}:
            raise ValueError("tensors of other shapes or types")
        if not all(bool(t.isfinite().all()) and t.dtype == torch.float64 for t in numbers):
            raise ValueError("values that are not finite, or not in float64")
        return found


def _odds(share: Tensor) -> Tensor:
    return share / (1 - share)


def _share(values: Tensor, reference: Tensor) -> Tensor:
    """The share of the reference [m] that is smaller, interpolated. values: [n], at least 0. [n] float64"""
    m, zero = len(reference), reference.new_zeros(1)
    different, each = torch.unique(reference, return_counts=True)
    edges, counts = torch.cat([zero, different]), torch.cat([zero, each.cumsum(0).double(), zero + m + 1])
    at = (torch.searchsorted(edges, values.contiguous(), right=True) - 1).clamp(min=0)
    last = at == len(different)
    low, high = edges[at], edges[(at + 1).clamp(max=len(different))]
    part = torch.where(last, 1 - edges[-1] / values, (values - low) / (high - low)).nan_to_num(0.0)
    return (counts[at] + part * (counts[at + 1] - counts[at])) / (m + 1)
