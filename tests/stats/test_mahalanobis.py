"""Mahalanobis distances against plain float64 loops, and what must hold of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf

from alloykit.stats.mahalanobis import Gaussians, fit_logistic


def data(n: int = 60, d: int = 4, k: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    classes = torch.arange(n) % k
    mix = torch.randn(d, d, generator=g, dtype=torch.float64)
    return torch.randn(n, d, generator=g, dtype=torch.float64) @ mix + 3 * torch.randn(
        k, d, generator=g, dtype=torch.float64
    )[classes], classes


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, None])
def test_against_loops(shrinkage: float | None) -> None:
    z, classes = data()
    found = Gaussians.fit(z, classes, shrinkage)
    n, d = z.shape
    x = z.numpy()
    means = [np.mean([x[i] for i in range(n) if classes[i] == k], axis=0) for k in range(3)]

    def covariance(centred: list[np.ndarray]) -> np.ndarray:
        total = sum(np.outer(c, c) for c in centred) / n
        if shrinkage is None:
            return ledoit_wolf(np.array(centred), assume_centered=True)[0]
        return (1 - shrinkage) * total + shrinkage * np.trace(total) / d * np.eye(d)

    within = np.linalg.inv(covariance([x[i] - means[int(classes[i])] for i in range(n)]))
    mean = x.mean(0)
    around = np.linalg.inv(covariance([row - mean for row in x]))
    new = torch.randn(7, d, generator=torch.Generator().manual_seed(9)).double()
    for j, row in enumerate(new.numpy()):
        md = [float((row - m) @ within @ (row - m)) for m in means]
        zero = float((row - mean) @ around @ (row - mean))
        assert found.distances(new)[j].tolist() == pytest.approx(md, rel=1e-6)
        assert float(found.background_distance(new)[j]) == pytest.approx(zero, rel=1e-6)
        assert float(found.relative(new)[j]) == pytest.approx(min(md) - zero, rel=1e-6)


def test_the_background_distance_averages_the_width_on_its_own_data() -> None:
    z, classes = data(n=5000, d=6)
    assert float(Gaussians.fit(z, classes, 0.0).background_distance(z).mean()) == pytest.approx(6, rel=1e-6)


def test_nothing_changes_under_an_affine_map() -> None:
    z, classes = data(n=400, d=5)
    g = torch.Generator().manual_seed(3)
    a, b = (
        torch.randn(5, 5, generator=g, dtype=torch.float64) + 2 * torch.eye(5, dtype=torch.float64),
        torch.randn(5, generator=g).double(),
    )
    before = Gaussians.fit(z, classes, 0.0).relative(z)
    after = Gaussians.fit(z @ a.T + b, classes, 0.0).relative(z @ a.T + b)
    torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, None])
def test_a_background_with_others_against_a_loop(shrinkage: float | None) -> None:
    """What is within classes is shrunk as Σ is, by the same share and towards the same multiple of the identity; what is between is not."""
    z, classes = data()
    others, theirs = data(n=40, k=2, seed=5)
    found = Gaussians.fit(z, classes, shrinkage, others=(others, theirs))
    groups = [z.numpy()[classes.numpy() == k] for k in range(3)] + [
        others.numpy()[theirs.numpy() == k] for k in range(2)
    ]
    mean, n, d = np.concatenate(groups).mean(0), 100, 4
    own = np.concatenate([g - g.mean(0) for g in groups[:3]])
    share = ledoit_wolf(own, assume_centered=True)[1] if shrinkage is None else shrinkage
    within, between = np.zeros((d, d)), np.zeros((d, d))
    for g in groups:
        between += len(g) * np.outer(g.mean(0) - mean, g.mean(0) - mean) / n
        for row in g:
            within += np.outer(row - g.mean(0), row - g.mean(0)) / n
    around = np.linalg.inv((1 - share) * within + share * float((own**2).mean()) * np.eye(d) + between)
    for j, row in enumerate(others[:7].numpy()):
        zero = float((row - mean) @ around @ (row - mean))
        assert float(found.background_distance(others[:7])[j]) == pytest.approx(zero, rel=1e-6)
    torch.testing.assert_close(found.distances(z), Gaussians.fit(z, classes, shrinkage).distances(z))


def test_without_shrinkage_the_background_is_that_of_all_texts() -> None:
    z, classes = data(n=500)
    others, theirs = data(n=300, seed=5)
    found = Gaussians.fit(z, classes, 0.0, others=(others, theirs))
    every = torch.cat([z, others])
    torch.testing.assert_close(
        found.background_distance(every),
        Gaussians.fit(every, torch.zeros(800, dtype=torch.long), 0.0).background_distance(every),
        rtol=1e-6,
        atol=1e-6,
    )


def test_what_has_no_variance_cancels_in_the_relative_distance() -> None:
    """States that lie in a plane say nothing of other directions: a text that is far off there is neither nearer nor farther."""
    g = torch.Generator().manual_seed(0)
    z = torch.zeros(200, 20, dtype=torch.float64)
    z[:, :2] = torch.randn(200, 2, generator=g, dtype=torch.float64)
    shift, off = torch.zeros(20, dtype=torch.float64), torch.zeros(20, dtype=torch.float64)
    shift[0], off[10] = 4.0, 1.0
    classes = torch.arange(200) % 2
    found = Gaussians.fit(z, classes, others=(z + shift, classes))
    torch.testing.assert_close(found.relative(z + off), found.relative(z), rtol=1e-6, atol=1e-4)
    assert bool((found.distance(z + off) > 5 * found.distance(z)).all())


def test_one_class_too_is_told_from_others() -> None:
    z, classes = data(k=1)
    one = Gaussians.fit(z, classes, others=(z + 8, classes))
    assert float(one.relative(z).max()) < float(one.relative(z + 8).min())


def test_more_dimensions_than_texts_are_no_trouble() -> None:
    z, classes = data(n=12, d=40)
    assert torch.isfinite(Gaussians.fit(z, classes).relative(z)).all()
    assert torch.isfinite(Gaussians.fit(z, classes, 0.0).relative(z)).all()


def test_the_curve_is_the_likeliest_and_both_groups_weigh_the_same() -> None:
    g = torch.Generator().manual_seed(0)
    scores = torch.cat([torch.randn(200, generator=g), torch.randn(50, generator=g) + 2]).double()
    own = torch.arange(250) < 200
    slope, intercept = fit_logistic(scores, own).tolist()
    assert slope < 0, "the further, the less its own"
    weight = torch.where(own, 250 / 400, 250 / 100)

    def loss(s: float, i: float) -> float:
        p = torch.sigmoid(s * scores + i)
        return float(-(weight * torch.where(own, p, 1 - p).log()).sum())

    best = loss(slope, intercept)
    for ds, di in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05)):
        assert loss(slope + ds, intercept + di) > best


def test_groups_that_do_not_overlap_keep_a_finite_curve() -> None:
    scores = torch.cat([torch.zeros(20), torch.ones(20)]).double()
    slope, intercept = fit_logistic(scores, torch.arange(40) < 20).tolist()
    assert np.isfinite([slope, intercept]).all()
    assert torch.sigmoid(torch.tensor(intercept)) > 0.9
