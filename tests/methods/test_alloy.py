"""Alloy's mixture (docs/methods/alloy.md, Eqs. 1–10) and density, against plain float64 loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import LARGEST_T, accepted_by_confidence, welch_t
from alloykit.methods.alloy.cross_fit import cross_fit, fit_inverse_temperature, label_agreement
from alloykit.methods.alloy.initial import half_standardised, initial_weights
from alloykit.methods.alloy.method import log_answers
from alloykit.methods.alloy.mixture import ITERATIONS, LabelMixture, Whitening
from alloykit.methods.alloy.routing import knows_label, margin, teacher_weights
from alloykit.methods.early_states import early_layers
from alloykit.stats.density import FLOOR, density, fit_density
from alloykit.stats.temperature import LARGEST_SHARPENING, fit_sharpening, sharpened

OVERLAPPING = LabelSpace.union([["a", "b", "c"], ["c", "d"]])


def normal(z: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Less (2π)^{D/2}, which every density has."""
    apart = z - mean
    return float(np.exp(-0.5 * apart @ np.linalg.inv(covariance) @ apart) / math.sqrt(np.linalg.det(covariance)))


def shrunk(covariance: np.ndarray) -> np.ndarray:
    return 0.9 * covariance + 0.1 * np.eye(len(covariance))


def by_loops(
    z: np.ndarray, p: list[np.ndarray], space: LabelSpace, e: np.ndarray
) -> tuple[list[list[float]], list[float]]:
    """r_c and r_0 after the last round."""
    n, teachers = e.shape
    owners = {c: [i for i in range(teachers) if name in space.teachers[i]] for c, name in enumerate(space.names)}

    def answer(x: int, c: int) -> float:
        said = [p[i][x, space.teachers[i].index(space.names[c])] for i in owners[c]]
        return math.prod(said) ** (1 / len(said))

    lead = e - e.mean(1, keepdims=True)
    t = np.quantile(e.max(1), 0.5)
    r, r0 = [], []
    for x in range(n):
        g = np.exp(e[x] / lead.std(ddof=1))
        g = g / g.sum()
        r0.append(0.9 / (1 + math.exp(-(t - e[x].max()) / 0.25)))
        r.append([(1 - r0[x]) * answer(x, c) * sum(g[i] for i in owners[c]) for c in owners])
    for _ in range(ITERATIONS):
        count = [sum(r[x][c] for x in range(n)) for c in owners]
        mu = [sum(r[x][c] * z[x] for x in range(n)) / count[c] for c in owners]
        sigma = sum(r[x][c] * np.outer(z[x] - mu[c], z[x] - mu[c]) for x in range(n) for c in owners) / sum(count)
        mu0 = sum(r0[x] * z[x] for x in range(n)) / sum(r0)
        sigma0 = sum(r0[x] * np.outer(z[x] - mu0, z[x] - mu0) for x in range(n)) / sum(r0)
        rho = sum(r0) / n
        root = [math.sqrt(k) for k in count]
        for x in range(n):
            own = [(1 - rho) * root[c] / sum(root) * normal(z[x], mu[c], shrunk(sigma)) * answer(x, c) for c in owners]
            foreign = rho * math.exp(-2) * normal(z[x], mu0, shrunk(sigma0))
            r[x], r0[x] = [o / (sum(own) + foreign) for o in own], foreign / (sum(own) + foreign)
    return r, r0


def test_flat_answers_are_sharpened_just_enough() -> None:
    """Eq. 1."""
    g = torch.Generator().manual_seed(0)
    p = torch.softmax(0.3 * torch.randn(50, 3, generator=g), -1)
    beta = fit_sharpening(p)

    def mean_of_the_largest(b: float) -> float:
        return sum(max(q) ** b / sum(v**b for v in q) for q in p.double().tolist()) / 50

    assert beta > 1
    assert mean_of_the_largest(beta) == pytest.approx(2 / 3)
    assert mean_of_the_largest(0.99 * beta) < 2 / 3
    for row, q in zip(sharpened(p, beta).tolist(), p.double().tolist(), strict=True):
        assert row == pytest.approx([v**beta / sum(w**beta for w in q) for v in q])
    assert torch.equal(sharpened(p, beta).argmax(-1), p.argmax(-1))


def test_clear_answers_stay_and_constant_ones_do_no_harm() -> None:
    sure = torch.softmax(10 * torch.randn(50, 3, generator=torch.Generator().manual_seed(0)), -1)
    assert fit_sharpening(sure) == 1
    torch.testing.assert_close(sharpened(sure, 1.0), sure.double())
    assert fit_sharpening(torch.full((50, 3), 1 / 3)) == LARGEST_SHARPENING
    assert sharpened(torch.tensor([[1.0, 0.0]]), LARGEST_SHARPENING).tolist() == [[1, 0]]


def test_cross_fitting_scores_each_half_by_the_other_half_s_mixture() -> None:
    """Text by text: the mixture of the texts in the other half."""
    g = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, generator=g, dtype=torch.float64) + torch.arange(40)[:, None] // 10
    answers, owners = torch.log_softmax(torch.randn(40, 4, generator=g).double(), -1), OVERLAPPING.knows()
    c = torch.rand(40, 2, generator=g).double()
    found = cross_fit(z, answers, owners, half_standardised(c, c))
    for x in (0, 7, 39):
        others = [k for k in range(40) if k % 2 != x % 2]
        part = LabelMixture.fit(z[others], answers[others], owners, half_standardised(c, c)[others])
        torch.testing.assert_close(found[x : x + 1], part.scores(z[x : x + 1], answers[x : x + 1]))


def test_the_inverse_temperature_is_what_the_halves_agree_on() -> None:
    """Eq. 7, against a search over all α; and Eq. 10."""
    g = torch.Generator().manual_seed(0)
    scores, other = (3 * torch.randn(40, 4, generator=g).double() for _ in range(2))
    other = other + 0.7 * scores
    named = [max(range(4), key=row.__getitem__) for row in scores.tolist()]

    def likelihood(alpha: float) -> float:
        return sum(
            alpha * row[c] - math.log(sum(math.exp(alpha * v) for v in row))
            for row, c in zip(other.tolist(), named, strict=True)
        )

    best = max((k / 1000 for k in range(20, 1001)), key=likelihood)
    assert 0.1 < best < 0.9
    assert float(fit_inverse_temperature(scores, other)) == pytest.approx(best, abs=0.002)
    assert float(fit_inverse_temperature(scores, scores)) == pytest.approx(1, abs=1e-3)
    assert float(fit_inverse_temperature(scores, -scores)) == pytest.approx(0.02, abs=1e-3)
    labels = [max(range(3), key=row.__getitem__) for row in scores.tolist()]
    again = [max(range(3), key=row.__getitem__) for row in other.tolist()]
    r0 = torch.rand(40, generator=g).double()
    known = [1 - v for v in r0.tolist()]
    same = sum(w for a, b, w in zip(labels, again, known, strict=True) if a == b)
    assert label_agreement(scores, other, r0) == pytest.approx(same / sum(known))
    assert label_agreement(scores, other, torch.ones(40).double()) == 0, "all in the background"


def test_the_inverse_temperature_scales_the_log_odds() -> None:
    """Eq. 2 with α."""
    g = torch.Generator().manual_seed(0)
    z, answers = (
        torch.randn(40, 3, generator=g).double(),
        torch.log_softmax(torch.randn(40, 4, generator=g).double(), -1),
    )
    c = torch.rand(40, 2, generator=g).double()
    fitted = LabelMixture.fit(z, answers, OVERLAPPING.knows(), half_standardised(c, c))
    sure, unsure = (
        fitted.responsibilities(z, answers),
        replace(fitted, inverse_temperature=torch.tensor(0.3).double()).responsibilities(z, answers),
    )
    for x in range(40):
        weighed = [v**0.3 for v in [*sure[0][x].tolist(), float(sure[1][x])]]
        assert [*unsure[0][x].tolist(), float(unsure[1][x])] == pytest.approx([v / sum(weighed) for v in weighed])


def test_the_mixture() -> None:
    """Eqs. 2–6, with a label that two teachers share."""
    g = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, generator=g, dtype=torch.float64) + torch.arange(40)[:, None] % 4
    p = [torch.softmax(2 * torch.randn(40, k, generator=g, dtype=torch.float64), -1) for k in (3, 2)]
    c = torch.rand(40, 2, generator=g, dtype=torch.float64)
    e, space = half_standardised(c, c), OVERLAPPING
    wanted, wanted_0 = by_loops(z.numpy(), [q.numpy() for q in p], space, e.numpy())
    answers = log_answers(space, p)
    fitted = LabelMixture.fit(z, answers, space.knows(), e)
    # The parameters are those of the last posterior; by_loops ends with the posterior of the round before.
    r, r0 = LabelMixture.fit(z, answers, space.knows(), e).responsibilities(z, answers)
    count = torch.tensor(wanted, dtype=torch.float64).sum(0)
    torch.testing.assert_close(fitted.means, torch.tensor(wanted, dtype=torch.float64).T @ z / count[:, None])
    torch.testing.assert_close(r.sum(1) + r0, torch.ones(40, dtype=torch.float64))
    shares = [sum(row[i] for row in wanted) / 40 for i in range(4)]
    history = fitted.history[-1].tolist()
    assert history == pytest.approx(
        [shares[0] + shares[1] + shares[2] / 2, shares[2] / 2 + shares[3], sum(wanted_0) / 40]
    )
    assert len(fitted.history) == ITERATIONS + 1


def test_teacher_weights() -> None:
    """Eq. 5."""
    r, r0 = torch.tensor([[0.1, 0.2, 0.4, 0.1], [0.0, 0.0, 0.0, 0.0]]).double(), torch.tensor([0.2, 1.0]).double()
    found = teacher_weights(r, r0, OVERLAPPING.knows())
    torch.testing.assert_close(found[0], torch.tensor([0.5, 0.3]).double() / 0.8)
    assert found[1].tolist() == [0.5, 0.5]


def test_the_margin_and_who_knows() -> None:
    """Eq. 8: a shared label counts for both of its owners, and for neither against the other."""
    space = LabelSpace.union([["a", "b", "c"], ["c", "d"], ["d", "e"]])
    g = torch.Generator().manual_seed(0)
    drawn = torch.rand(30, 6, generator=g, dtype=torch.float64) ** 4
    both = drawn / drawn.sum(-1, keepdim=True)
    r, r0, owners = both[:, :5], both[:, 5], space.knows()
    k, found = knows_label(r, r0, owners), margin(r, r0, owners)
    for x in range(30):
        known = [sum(float(r[x, c]) for c in range(5) if owners[i, c]) / (1 - float(r0[x])) for i in range(3)]
        best = max(range(3), key=lambda i: known[i])
        rival = max(
            sum(float(r[x, c]) for c in range(5) if owners[j, c] and not owners[best, c]) / (1 - float(r0[x]))
            for j in range(3)
        )
        assert k[x].tolist() == pytest.approx(known)
        assert float(found[x]) == pytest.approx(max(0.0, known[best] - rival))
    sure_of_c = torch.tensor([[0, 0, 1, 0, 0]]).double()
    assert float(margin(sure_of_c, torch.zeros(1).double(), owners)) == pytest.approx(1)
    disjoint = LabelSpace.union([["a", "b"], ["c", "d", "e"]]).knows()
    first, second = knows_label(r, r0, disjoint).T
    torch.testing.assert_close(margin(r, r0, disjoint), (first - second).abs())


def test_welch_t() -> None:
    """Eq. 9."""
    g = torch.Generator().manual_seed(0)
    c = torch.rand(40, 3, generator=g, dtype=torch.float64)
    own = torch.stack([torch.arange(40) % 3 == 0, torch.ones(40).bool(), torch.arange(40) < 4], -1)
    found = welch_t(c, own, ~own, 5)
    inside, rest = c[own[:, 0], 0].numpy(), c[~own[:, 0], 0].numpy()
    error = math.sqrt(inside.var(ddof=1) / len(inside) + rest.var(ddof=1) / len(rest))
    assert float(found[0]) == pytest.approx((inside.mean() - rest.mean()) / error)
    assert math.isnan(float(found[1])), "no rest to compare with"
    assert float(found[2]) == -math.inf, "fewer than five"
    some = welch_t(c[:, :1], own[:, :1], torch.arange(40)[:, None] % 3 == 1, 5)
    part = c[torch.arange(40) % 3 == 1, 0].numpy()
    error = math.sqrt(inside.var(ddof=1) / len(inside) + part.var(ddof=1) / len(part))
    assert float(some[0]) == pytest.approx((inside.mean() - part.mean()) / error), "the rest may be a part"
    flat = torch.tensor([[0.5, 0.5], [0.5, 0.5], [0.5, 0.2], [0.5, 0.2]]).double()
    half = torch.tensor([True, True, False, False])[:, None].expand(4, 2)
    assert welch_t(flat, half, ~half, 2).tolist() == [0, LARGEST_T], "where nothing varies"


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([2.0, 2.0], True),
        ([1.1, 1.1], False),  # 2.2 / √2 = 1.56
        ([1.2, 1.2], True),  # 1.70: neither is significant, both together are
        ([9.0, -1.5], True),  # one is less confident on its own, another much more
        ([9.0, -1.7], False),
        ([9.0, -math.inf], False),  # hardly any text
        ([9.0, 0.0], True),  # equally confident everywhere
        ([2.0, math.nan], True),  # nothing to compare
        ([math.nan, math.nan], False),
    ],
)
def test_what_is_accepted(found: list[float], wanted: bool) -> None:
    """Of Eq. 9 for all teachers."""
    assert accepted_by_confidence(torch.tensor(found)) is wanted


def test_the_start() -> None:
    c = torch.tensor([[0.9, 0.5], [0.8, 0.1], [0.2, 0.6]], dtype=torch.float64)
    e = half_standardised(c, c)
    for i in range(2):
        for x in range(3):
            own = (float(c[x, i]) - float(c[:, i].mean())) / float(c[:, i].std())
            assert float(e[x, i]) == pytest.approx((own + (float(c[x, i]) - float(c.mean())) / float(c.std())) / 2)
    gamma, r0 = initial_weights(e)
    assert gamma.argmax(-1).tolist() == [0, 0, 1]
    assert int(r0.argmax()) == int(e.amax(-1).argmin())
    same = half_standardised(torch.ones(3, 2), torch.ones(3, 2))
    assert torch.isfinite(initial_weights(same)[0]).all()


def test_whitened_states_have_variance_one() -> None:
    g = torch.Generator().manual_seed(0)
    states = torch.randn(200, 30, generator=g, dtype=torch.float64) @ torch.randn(
        30, 30, generator=g, dtype=torch.float64
    )
    z = Whitening.fit(states, 8)(states)
    torch.testing.assert_close(z.T @ z / 200, torch.eye(8, dtype=torch.float64), atol=0.01, rtol=0)
    assert Whitening.fit(states[:40], 32)(states).shape == (200, 5), "a component for eight texts"


def test_early_layers() -> None:
    assert [early_layers(n) for n in (1, 2, 3, 6, 12)] == [(0, 1), (0, 1), (0, 1, 2), (0, 2, 4), (0, 4, 8)]


def test_density() -> None:
    g = torch.Generator().manual_seed(0)
    states = [torch.randn(60, 3, generator=g).double() for _ in range(2)]
    classes, confidence = torch.randint(2, (60,), generator=g), torch.rand(60, generator=g)
    fitted = fit_density(states, classes, confidence, 2)
    surest = sorted(range(60), key=lambda x: -float(confidence[x]))[:24]
    total = np.zeros(60)
    for z in (s.numpy() for s in states):
        mean, whole = z.mean(0), np.zeros((3, 3))
        for x in range(60):
            whole += np.outer(z[x] - mean, z[x] - mean) / 60
        kinds = {k: np.mean([z[x] for x in surest if classes[x] == k], 0) for k in (0, 1)}
        within = sum(np.outer(z[x] - kinds[int(classes[x])], z[x] - kinds[int(classes[x])]) for x in surest) / 24
        eye = FLOOR * z.var(0, ddof=1).mean() * np.eye(3)

        def far(x: int, m: np.ndarray, s: np.ndarray, z: np.ndarray = z) -> float:
            return float((z[x] - m) @ np.linalg.inv(s) @ (z[x] - m))

        within, whole = (
            within_shrunk(within, z[surest] - np.array([kinds[int(classes[x])] for x in surest])) + eye,
            within_shrunk(whole, z - mean),
        )
        scores = np.array([far(x, mean, whole) - min(far(x, m, within) for m in kinds.values()) for x in range(60)])
        total += scores / scores.std(ddof=1)
    wanted = 1 / (1 + np.exp(-(total - total.mean()) / total.std(ddof=1)))
    np.testing.assert_allclose(density(states, fitted).numpy(), wanted, rtol=1e-6)


def within_shrunk(covariance: np.ndarray, centred: np.ndarray) -> np.ndarray:
    from sklearn.covariance import ledoit_wolf_shrinkage

    share = ledoit_wolf_shrinkage(centred, assume_centered=True)
    return (1 - share) * covariance + (share + 1e-9) * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
