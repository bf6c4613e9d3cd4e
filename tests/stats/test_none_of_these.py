"""The score `none of these` against plain float64 loops, and what must hold of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf
from torch import Tensor, nn

from alloykit.stats.none_of_these import FLOOR, NoneOfThese


def pool(n: int = 90, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """States [n, d], predicted labels (label 1 never occurs), and every third text unseen, with a wider spread."""
    g = torch.Generator().manual_seed(seed)
    predicted = torch.tensor([0, 2, 5])[torch.randint(3, (n,), generator=g)]
    unseen = torch.arange(n) % 3 == 0
    centres = 4 * torch.randn(6, d, generator=g)
    return centres[predicted] + torch.randn(n, d, generator=g) * (1 + unseen[:, None].float()), predicted, unseen


def head(d: int = 4, labels: int = 6, *, bias: bool = True) -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(d, labels, bias=bias)


def fit(states: Tensor, predicted: Tensor, unseen: Tensor, **options: bool) -> NoneOfThese:
    found = NoneOfThese.fit(states, predicted, unseen, head(states.shape[1]), **options)
    assert found is not None
    return found


def by_loops(
    states: Tensor, predicted: Tensor, unseen: Tensor, layer: nn.Linear, new: Tensor, *, multi_label: bool = False
) -> tuple[list[list[float]], list[float]]:
    """The measures of new texts and their scores, text by text."""
    fitted = [(z.double().numpy(), int(c)) for z, c, u in zip(states, predicted, unseen, strict=True) if not u]
    labels = sorted({c for _, c in fitted})
    means = {c: np.mean([z for z, k in fitted if k == c], axis=0) for c in labels}
    everything = np.array([z for z, _ in fitted])
    floor = FLOOR * np.mean([np.mean((column - column.mean()) ** 2) for column in everything.T])
    covariance = ledoit_wolf(np.array([z - means[c] for z, c in fitted]), assume_centered=True)[0]
    inverse = np.linalg.inv(covariance + floor * np.eye(len(covariance)))
    biases = [0.0] * len(layer.weight) if layer.bias is None else layer.bias.tolist()
    rows = [(np.array(w), b) for w, b in zip(layer.weight.tolist(), biases, strict=True)]

    def measures(text: Tensor) -> list[float]:
        z = text.double().numpy()
        logits = [float(w @ z) + b for w, b in rows]
        energy = [math.log(1 + math.exp(x)) if multi_label else math.exp(x) for x in logits]
        return [min(float((z - m) @ inverse @ (z - m)) for m in means.values()), 1 / sum(energy)]

    def share(value: float, compared: list[float]) -> float:
        smaller, larger = [r for r in compared if r <= value], [r for r in compared if r > value]
        low = smaller[-1] if smaller else 0.0
        part = (value - low) / (larger[0] - low) if larger else 1 - compared[-1] / value
        step = compared.count(larger[0]) if larger else 1
        return (len(smaller) + part * step) / (len(compared) + 1)

    reference = [measures(z) for z, u in zip(states, unseen, strict=True) if u]
    columns = [sorted(column) for column in zip(*reference, strict=True)]

    def largest(values: list[float]) -> float:
        s = max(share(v, column) for v, column in zip(values, columns, strict=True))
        return s / (1 - s)

    of_reference = sorted(largest(values) for values in reference)
    found = [measures(z) for z in new]
    return found, [share(largest(values), of_reference) for values in found]


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_against_loops(multi_label: bool, bias: bool) -> None:
    states, predicted, unseen = pool()
    new = torch.cat([states[:12], states[:8] + 30, states[:8] * 0.7, states[:3] * 1e-3])
    layer = head(bias=bias)
    found = NoneOfThese.fit(states, predicted, unseen, layer, multi_label=multi_label)
    assert found is not None
    assert bool(found.unseen)
    assert len(found.reference) == 30
    measures, scores = by_loops(states, predicted, unseen, layer, new, multi_label=multi_label)
    assert found.measures(new).tolist() == [pytest.approx(each, rel=1e-6) for each in measures]
    assert found.score(found.measures(new)).tolist() == pytest.approx(scores, rel=1e-6)
    assert min(scores) < 0.3
    assert max(scores) > 0.97


@pytest.mark.parametrize("measure", [0, 1])
def test_either_measure_alone_makes_a_text_unusual(measure: int) -> None:
    found = fit(*pool())
    usual = found.reference.median(0).values
    far = usual.clone()
    far[measure] = found.reference[:, measure].max() * 100
    both = found.score(torch.stack([usual, far]))
    assert float(both[0]) < 0.7
    assert float(both[1]) > 0.99


def test_the_share_of_new_texts_of_the_same_kind_is_even() -> None:
    """The texts that are fitted would be too close: of new texts far more than 5 % would have a score of at least 0.95."""
    states, predicted, _ = pool(n=900, d=80)
    found = fit(states[:300], predicted[:300], torch.arange(300) % 3 == 0)
    naive = fit(states[:300], predicted[:300], torch.zeros(300, dtype=torch.bool))
    assert not bool(naive.unseen)
    new = states[300:][torch.arange(600) % 3 == 0]  # as wide as the unseen ones
    assert 0.01 < float((found.score(found.measures(new)) >= 0.95).double().mean()) < 0.1
    assert float((naive.score(naive.measures(new)) >= 0.95).double().mean()) > 0.12


def test_a_larger_measure_has_a_larger_score_also_beyond_the_pool() -> None:
    found = fit(*pool())
    r = found.reference.sort(0).values
    beyond = r[-1] * torch.tensor([2.0, 10.0, 1e6])[:, None]
    measures = torch.cat([torch.zeros(1, 2).double(), r, (r[1:] + r[:-1]) / 2, beyond]).sort(0).values
    scores = found.score(measures)
    assert bool((scores.diff() > 0).all())
    assert float(scores[0]) == 0
    assert 0.999 < float(scores[-1]) < 1
    assert float(found.score(torch.full((1, 2), torch.inf))) == 1
    # Two texts of the pool have the same score if d ranks one of them k-th and u the other.
    own = found.score(found.reference).sort().values
    assert own.tolist() == pytest.approx([(k + 1) / (len(r) + 1) for k in range(len(r))], abs=1.01 / (len(r) + 1))


def test_other_rounding_hardly_changes_a_score() -> None:
    """Also of a text with the same s as another one of the pool. The graph of an export rounds otherwise."""
    found = fit(*pool())
    for factor in (1 - 1e-7, 1 + 1e-7):
        assert torch.allclose(found.score(found.reference * factor), found.score(found.reference), atol=1e-4)


def test_equal_texts_in_the_pool_have_one_score() -> None:
    states = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]]).repeat(6, 1)
    found = fit(states, torch.zeros(24, dtype=torch.long), torch.arange(24) >= 12)
    assert found.score(found.measures(states)).isfinite().all()
    assert float(found.score(torch.zeros(1, 2))) == 0


@pytest.mark.parametrize(("n", "first"), [(24, 12), (200, 199), (200, 200)])
def test_too_few_texts_that_are_unseen_or_that_are_not(n: int, first: int) -> None:
    states, predicted, unseen = pool(n=n)
    found = fit(states, predicted, (unseen | (first > 12)) & (torch.arange(n) < first))
    assert not bool(found.unseen)
    assert len(found.reference) == n


def test_labels_of_one_text() -> None:
    states = pool(n=24)[0]
    alone = fit(states, torch.arange(24), torch.zeros(24, dtype=torch.bool))
    assert alone.score(alone.measures(states + 1)).isfinite().all()


def test_very_large_and_very_small_logits() -> None:
    """exp(-energy) is 0 or infinite in float64; the distance still ranks the texts."""
    states, predicted, unseen = pool()
    for factor in (1e4, -1e4):
        layer = head()
        with torch.no_grad():
            layer.weight.fill_(0)
            layer.bias.fill_(factor)
        found = NoneOfThese.fit(states, predicted, unseen, layer)
        assert found is not None
        assert NoneOfThese.of(found.state()).width == 4
        scores = found.score(found.measures(torch.cat([states, states + 50])))
        assert scores.isfinite().all()
        assert float(scores[90:].min()) > 0.9


def test_states_that_are_all_the_same_or_not_finite_give_none() -> None:
    labels, unseen = torch.zeros(20, dtype=torch.long), torch.arange(20) < 10
    assert NoneOfThese.fit(torch.ones(20, 3), labels, unseen, head(3)) is None
    assert NoneOfThese.fit(torch.full((20, 3), float("nan")), labels, unseen, head(3)) is None


def test_named_tensors_and_back() -> None:
    found = fit(*pool())
    again, measures = NoneOfThese.of(found.state()), found.measures(pool(seed=4)[0])
    assert again.score(measures).equal(found.score(measures))
    assert again.width == 4
    for name, wrong in {
        "reference": torch.zeros(0, 2, dtype=torch.float64),
        "unseen": torch.ones(1),
        "multi_label": torch.ones(()),
        "weight": torch.zeros(6, 3, dtype=torch.float64),
        "bias": torch.zeros(5, dtype=torch.float64),
        "gaussians.factor": torch.zeros(3, 3, dtype=torch.float64),
        "gaussians.means": found.gaussians.means.float(),
        "gaussians.mean": found.gaussians.mean * float("nan"),
    }.items():
        with pytest.raises(ValueError, match="tensors of other|not finite"):
            NoneOfThese.of(found.state() | {name: wrong})
    with pytest.raises(ValueError, match="tensors of other"):
        NoneOfThese.of(found.state() | {"reference": found.reference[:, 0]})
