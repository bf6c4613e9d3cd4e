"""The score `none of these` against plain float64 loops, and what must hold of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf
from torch import Tensor

from alloykit.stats.none_of_these import FLOOR, NoneOfThese


def pool(n: int = 90, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """States [n, d], predicted labels (label 1 never occurs), and every third text unseen, with a wider spread."""
    g = torch.Generator().manual_seed(seed)
    predicted = torch.tensor([0, 2, 5])[torch.randint(3, (n,), generator=g)]
    unseen = torch.arange(n) % 3 == 0
    centres = 4 * torch.randn(6, d, generator=g)
    return centres[predicted] + torch.randn(n, d, generator=g) * (1 + unseen[:, None].float()), predicted, unseen


def by_loops(states: Tensor, predicted: Tensor, unseen: Tensor, new: Tensor) -> tuple[list[float], list[float]]:
    """The distances of new texts and their scores, text by text."""
    fitted = [(z.double().numpy(), int(c)) for z, c, u in zip(states, predicted, unseen, strict=True) if not u]
    labels = sorted({c for _, c in fitted})
    means = {c: np.mean([z for z, k in fitted if k == c], axis=0) for c in labels}
    everything = np.array([z for z, _ in fitted])
    floor = FLOOR * np.mean([np.mean((column - column.mean()) ** 2) for column in everything.T])
    covariance = ledoit_wolf(np.array([z - means[c] for z, c in fitted]), assume_centered=True)[0]
    inverse = np.linalg.inv(covariance + floor * np.eye(len(covariance)))

    def distance(z: Tensor) -> float:
        return min(float((z.double().numpy() - m) @ inverse @ (z.double().numpy() - m)) for m in means.values())

    compared = sorted(distance(z) for z, u in zip(states, unseen, strict=True) if u)
    m, distances, shares = len(compared), [distance(z) for z in new], []
    for d in distances:
        below = sum(r <= d for r in compared)
        low = compared[below - 1] if below else 0.0
        part = (d - low) / (compared[below] - low) if below < m else 1 - compared[-1] / d
        shares.append((below + part) / (m + 1))
    return distances, shares


def test_against_loops() -> None:
    states, predicted, unseen = pool()
    new = torch.cat([states[:12], states[:8] + 30, states[:8] * 0.7])
    found = NoneOfThese.fit(states, predicted, unseen)
    assert found is not None
    assert bool(found.unseen)
    assert len(found.reference) == 30
    distances, shares = by_loops(states, predicted, unseen, new)
    assert found.gaussians.distance(new).tolist() == pytest.approx(distances, rel=1e-6)
    assert found.share(found.gaussians.distance(new)).tolist() == pytest.approx(shares, rel=1e-6)
    assert min(shares) < 0.3
    assert max(shares) > 0.97


def test_the_share_of_new_texts_of_the_same_kind_is_even() -> None:
    """The texts that are fitted would be too close: of new texts far more than 5 % would have a score of at least 0.95."""
    states, predicted, _ = pool(n=900, d=80)
    found = NoneOfThese.fit(states[:300], predicted[:300], torch.arange(300) % 3 == 0)
    naive = NoneOfThese.fit(states[:300], predicted[:300], torch.zeros(300, dtype=torch.bool))
    assert found is not None
    assert naive is not None
    assert not bool(naive.unseen)
    new = states[300:][torch.arange(600) % 3 == 0]  # as wide as the unseen ones
    above = float((found.share(found.gaussians.distance(new)) >= 0.95).double().mean())
    assert 0.01 < above < 0.1
    assert float((naive.share(naive.gaussians.distance(new)) >= 0.95).double().mean()) > 0.12


def test_a_larger_distance_has_a_larger_share_also_beyond_the_pool() -> None:
    found = NoneOfThese.fit(*pool())
    assert found is not None
    r = found.reference
    d = torch.cat([torch.zeros(1).double(), r, (r[1:] + r[:-1]) / 2, r[-1] * torch.tensor([2.0, 10.0, 1e6])]).sort()[0]
    share = found.share(d)
    assert bool((share.diff() > 0).all())
    assert float(share[0]) == 0
    assert float(share[-1]) < 1
    assert found.share(r).tolist() == pytest.approx([(k + 1) / (len(r) + 1) for k in range(len(r))])


def test_equal_distances_in_the_pool_have_one_share() -> None:
    states = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]]).repeat(6, 1)
    found = NoneOfThese.fit(states, torch.zeros(24, dtype=torch.long), torch.arange(24) >= 12)
    assert found is not None
    assert found.share(found.gaussians.distance(states)).isfinite().all()
    assert float(found.share(torch.zeros(1))) == 0


def test_too_few_unseen_texts_or_none_at_all_and_labels_of_one_text() -> None:
    states, predicted, unseen = pool(n=24)
    found = NoneOfThese.fit(states, predicted, unseen & (torch.arange(24) < 12))
    assert found is not None
    assert not bool(found.unseen)
    assert len(found.reference) == 24
    alone = NoneOfThese.fit(states, torch.arange(24), torch.zeros(24, dtype=torch.bool))
    assert alone is not None
    assert alone.share(alone.gaussians.distance(states + 1)).isfinite().all()


def test_states_that_are_all_the_same_or_not_finite_give_none() -> None:
    labels, unseen = torch.zeros(20, dtype=torch.long), torch.arange(20) < 10
    assert NoneOfThese.fit(torch.ones(20, 3), labels, unseen) is None
    assert NoneOfThese.fit(torch.full((20, 3), float("nan")), labels, unseen) is None


def test_named_tensors_and_back() -> None:
    found = NoneOfThese.fit(*pool())
    assert found is not None
    again, d = NoneOfThese.of(found.state()), found.gaussians.distance(pool(seed=4)[0])
    assert again.share(d).equal(found.share(d))
    assert again.width == 4
    for name, wrong in {
        "reference": torch.zeros(0, dtype=torch.float64),
        "unseen": torch.ones(1),
        "gaussians.factor": torch.zeros(3, 3, dtype=torch.float64),
        "gaussians.means": found.gaussians.means.float(),
        "gaussians.mean": found.gaussians.mean * float("nan"),
    }.items():
        with pytest.raises(ValueError, match="tensors of other|not finite"):
            NoneOfThese.of(found.state() | {name: wrong})
