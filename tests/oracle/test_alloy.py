"""Alloy's mixture (docs/alloy.md, Eqs. 1–5) and density, against plain float64 loops; and what they are for, on constructed pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy import CONTRADICTED, FEW, WHOLE, log_answers
from alloykit.methods.base import Context, Shape
from alloykit.methods.early_states import early_layers
from alloykit.methods.registry import create
from alloykit.rows import Rows, TeacherRows
from alloykit.uncertainty.density import FLOOR, density, fit_density
from alloykit.uncertainty.ownership import ROUNDS, Ownership, Whitening, half_standardised, start, teachers_share

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
    t = np.quantile(e.max(1), 0.1)
    r, r0 = [], []
    for x in range(n):
        g = np.exp(e[x] / lead.std(ddof=1))
        g = g / g.sum()
        r0.append(0.9 / (1 + math.exp(-(t - e[x].max()) / 0.25)))
        r.append([(1 - r0[x]) * answer(x, c) * sum(g[i] for i in owners[c]) for c in owners])
    for _ in range(ROUNDS):
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


def test_the_mixture() -> None:
    """Eqs. 1–5, with a label that two teachers share."""
    g = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, generator=g, dtype=torch.float64) + torch.arange(40)[:, None] % 4
    p = [torch.softmax(2 * torch.randn(40, k, generator=g, dtype=torch.float64), -1) for k in (3, 2)]
    c = torch.rand(40, 2, generator=g, dtype=torch.float64)
    e, space = half_standardised(c, c), OVERLAPPING
    wanted, wanted_0 = by_loops(z.numpy(), [q.numpy() for q in p], space, e.numpy())
    answers = log_answers(space, p)
    fitted = Ownership.fit(z, answers, space.knows(), e)
    # The parameters are those of the last posterior; by_loops ends with the posterior of the round before.
    r, r0 = Ownership.fit(z, answers, space.knows(), e).posterior(z, answers)
    count = torch.tensor(wanted, dtype=torch.float64).sum(0)
    torch.testing.assert_close(fitted.means, torch.tensor(wanted, dtype=torch.float64).T @ z / count[:, None])
    torch.testing.assert_close(r.sum(1) + r0, torch.ones(40, dtype=torch.float64))
    shares = [sum(row[i] for row in wanted) / 40 for i in range(4)]
    course = fitted.course[-1].tolist()
    assert course == pytest.approx(
        [shares[0] + shares[1] + shares[2] / 2, shares[2] / 2 + shares[3], sum(wanted_0) / 40]
    )
    assert len(fitted.course) == ROUNDS + 1


def test_whose_it_is() -> None:
    """Eq. 4."""
    r, r0 = torch.tensor([[0.1, 0.2, 0.4, 0.1], [0.0, 0.0, 0.0, 0.0]]).double(), torch.tensor([0.2, 1.0]).double()
    found = teachers_share(r, r0, OVERLAPPING.knows())
    torch.testing.assert_close(found[0], torch.tensor([0.5, 0.3]).double() / 0.8)
    assert found[1].tolist() == [0.5, 0.5]


def test_the_start() -> None:
    c = torch.tensor([[0.9, 0.5], [0.8, 0.1], [0.2, 0.6]], dtype=torch.float64)
    e = half_standardised(c, c)
    for i in range(2):
        for x in range(3):
            own = (float(c[x, i]) - float(c[:, i].mean())) / float(c[:, i].std())
            assert float(e[x, i]) == pytest.approx((own + (float(c[x, i]) - float(c.mean())) / float(c.std())) / 2)
    gamma, r0 = start(e)
    assert gamma.argmax(-1).tolist() == [0, 0, 1]
    assert int(r0.argmax()) == int(e.amax(-1).argmin())
    same = half_standardised(torch.ones(3, 2), torch.ones(3, 2))
    assert torch.isfinite(start(same)[0]).all()


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


# Constructed pools: four labels, each a cluster of states; teacher 1 is surer of everything than teacher 2 is of its own.
LABELS = (("a", "b"), ("c", "d"))
SPACE = LabelSpace.union(LABELS)
TEACHERS = (Shape(6, 3), Shape(6, 3))


class Pool:
    def __init__(self, counts: tuple[int, ...], *, foreign: int = 0, seed: int = 0, apart: float = 4.0) -> None:
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.cat([torch.full((n,), c) for c, n in enumerate((*counts, foreign))])
        centres = apart * torch.eye(5, 6)
        states = centres[self.labels] + torch.randn(len(self.labels), 6, generator=g)
        rows = []
        for i in range(2):
            own = (self.labels // 2 == i) & (self.labels < 4)
            side = torch.where(own, self.labels % 2, torch.randint(2, self.labels.shape, generator=g))
            sure = torch.where(own, 3.0, 2.0) + (1.5 if i == 0 else 0.0) + torch.randn(self.labels.shape, generator=g)
            logits = torch.stack([-sure, sure], -1) / 2 * (2.0 * side - 1).unsqueeze(-1)
            rows.append(TeacherRows(logits, pooled_states=(states.half(),) * 3))
        self.everything = Rows(tuple(rows))

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, indices: Any) -> Rows:
        at = torch.as_tensor(list(indices))
        return Rows(tuple(TeacherRows(t.logits[at], pooled_states=tuple(s[at] for s in t.pooled_states or ()))
                          for t in self.everything.teachers))  # fmt: skip

    @property
    def owner(self) -> Tensor:
        return self.labels // 2


def routed(spec: dict[str, Any] | str, pool: Pool) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """The owner that the method names, [n], v, and the method's notes."""
    method, bare = create(spec), Context(SPACE, teachers=TEACHERS)
    context = Context(SPACE, dict(method.fit(pool, bare)), teachers=TEACHERS)
    found = method.supervise(pool.rows(range(len(pool))), context)
    assert found is not None
    assert found.teacher_weights is not None
    notes = method.account(context, ["teacher 1", "teacher 2"])
    return found.teacher_weights.argmax(-1), found.weights, {**notes, "outcome": context.state.get("outcome")}


def right(owner: Tensor, pool: Pool) -> float:
    """Balanced over the teachers, of the texts that one of them knows."""
    known = pool.labels < 4
    return float(torch.stack([(owner[known & (pool.owner == i)] == i).double().mean() for i in range(2)]).mean())


def test_a_teacher_that_is_surer_of_everything_does_not_get_everything() -> None:
    pool = Pool((100, 100, 100, 100))
    muka, alloy = (right(routed(spec, pool)[0], pool) for spec in ({"name": "muka", "passes": 0}, "alloy"))
    assert muka < 0.7
    assert alloy > 0.95


@pytest.mark.parametrize("counts", [(250, 250, 50, 50), (50, 50, 250, 250), (300, 300, 15, 15)])
def test_skewed_pools(counts: tuple[int, ...]) -> None:
    pool = Pool(counts)
    owner, _, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.9
    assert notes["shares"]["teacher 1"][-1] == pytest.approx(sum(counts[:2]) / sum(counts), abs=0.1)


def test_texts_that_nobody_knows_get_low_weight() -> None:
    pool = Pool((100, 100, 100, 100), foreign=200)
    owner, v, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.95
    assert float(v[pool.labels == 4].mean()) < 0.2 * float(v[pool.labels < 4].mean())
    assert notes["shares"]["nobody"][-1] == pytest.approx(1 / 3, abs=0.05)


def test_too_few_texts_fall_back_to_muka_and_say_so() -> None:
    pool = Pool((15, 15, 15, 15))
    owner, v, notes = routed("alloy", pool)
    plain, plain_v, _ = routed({"name": "muka", "passes": 0}, pool)
    assert int(notes["outcome"]) == FEW
    assert "60 texts are too few to see whose they are (80 are needed)" in notes["warnings"][0]
    assert torch.equal(owner, plain)
    assert torch.equal(v, plain_v)
    assert int(routed({"name": "alloy", "texts_per_label": 15}, pool)[2]["outcome"]) == WHOLE


def test_an_outcome_that_contradicts_the_teachers_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teacher 2 made to answer at its loudest where a text is not its own."""
    pool = Pool((100, 100, 100, 100), apart=6.0)
    loud = pool.everything.teachers[1]
    foreign = (pool.owner == 0).unsqueeze(-1)
    pool.everything = Rows(
        (
            pool.everything.teachers[0],
            TeacherRows(torch.where(foreign, loud.logits * 3, loud.logits / 9), pooled_states=loud.pooled_states),
        )
    )
    fixed = torch.nn.functional.one_hot(pool.owner, 2).double() * 6
    monkeypatch.setattr("alloykit.methods.alloy.half_standardised", lambda c, p: fixed)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == CONTRADICTED
    assert any("teacher 2 is no surer of the texts that seem its own" in line for line in notes["warnings"])
    assert torch.equal(owner, routed({"name": "muka", "passes": 0}, pool)[0])


def test_states_without_any_structure_do_no_harm() -> None:
    """All labels lie on one point: what is left are the answers and the shares, and the run is no worse than MUKA's by much."""
    pool = Pool((100, 100, 100, 100), apart=0.0)
    found, plain = (right(routed(spec, pool)[0], pool) for spec in ("alloy", {"name": "muka", "passes": 0}))
    assert found > plain - 0.05
