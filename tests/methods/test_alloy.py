"""Alloy's equations (docs/methods/alloy.md, Eqs. 1–12), against plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from alloy_views import OVERLAPPING, OWNERS, by_loops, drawn, normal

from alloykit.labels import LabelSpace
from alloykit.methods.alloy import states
from alloykit.methods.alloy.cross_fit import (
    cross_fit,
    fit_inverse_temperature,
    label_skill,
    random_half,
    same_label,
    same_teacher,
)
from alloykit.methods.alloy.energies import EnergyGaussians
from alloykit.methods.alloy.energy_weights import evidence
from alloykit.methods.alloy.mixture import ITERATIONS, LabelMixture, View, initial_responsibilities, initial_weights
from alloykit.methods.alloy.routing import knows_label, routing_margin, shares, teacher_weights
from alloykit.methods.alloy.states import StateSpace, raw_states
from alloykit.methods.alloy.target import clarity, confidence_of_answers, target
from alloykit.methods.early_states import early_layers
from alloykit.outputs import Rows, TeacherRows


@pytest.mark.parametrize("partly", [False, True], ids=["all answers", "some answers"])
def test_the_mixture(partly: bool) -> None:
    """With a label that two teachers share. The parameters are those of the last responsibilities."""
    view, p = drawn(partly=partly)
    wanted = torch.tensor(by_loops(view, [q.numpy() for q in p])[0], dtype=torch.float64)
    fitted = LabelMixture.fit(view, OWNERS)
    torch.testing.assert_close(fitted.means, (wanted**2).T @ view.z / (wanted**2).sum(0)[:, None])
    first, second = torch.ones(40, 2).double().T if view.answered is None else view.answered.double().T
    each = wanted[:, :2].sum(-1) + wanted[:, 2] / (1 + second), wanted[:, 2] / (1 + first) + wanted[:, 3]
    assert fitted.history[-1].tolist() == pytest.approx(
        [float((first * each[0]).mean()), float((second * each[1]).mean())]
    )
    assert len(fitted.history) == ITERATIONS + 1
    torch.testing.assert_close(fitted.log_prior, 0.5 * (wanted.mean(0)).log())


def test_scores_are_the_logarithms_of_the_equations() -> None:
    view, _ = drawn()
    fitted = LabelMixture.fit(view, OWNERS)
    sigma, found = (fitted.factor @ fitted.factor.T).numpy(), torch.softmax(fitted.scores(view, OWNERS), -1)
    ratios = fitted.energies.log_ratios(view.energies)
    for x in range(0, 40, 9):
        each = [
            math.exp(float(fitted.log_prior[c]) + float(view.answers[x, c]))
            * normal(view.z[x].numpy(), fitted.means[c].numpy(), sigma)
            * math.exp(sum(float(ratios[x, i]) for i in range(2) if OWNERS[i, c]))
            for c in range(4)
        ]
        assert found[x].tolist() == pytest.approx([v / sum(each) for v in each])


def test_energies_are_judged_by_the_states_alone() -> None:
    """Energies in two clear groups that have nothing to do with what a teacher knows do not count, though they are bimodal."""
    n = 400
    labels = torch.arange(n) % 4
    g = torch.Generator().manual_seed(0)
    z = 6 * torch.nn.functional.one_hot(labels, 4).double() + torch.randn(n, 4, generator=g).double()
    space = LabelSpace.union([["a", "b"], ["c", "d"]])
    answers = torch.where(torch.arange(4) % 2 == (labels % 2)[:, None], 0.95, 0.05).double().log()
    split = (torch.arange(n) // 4) % 2  # half of every label
    energies = torch.stack([3.0 * split, torch.zeros(n)], -1).double() + 0.1 * torch.randn(n, 2, generator=g).double()
    fitted = LabelMixture.fit(View(z, answers, (energies - energies.mean(0)) / energies.std(0)), space.has_label())
    assert fitted.energies.separation().abs().max() < 0.2


def test_energy_gaussians() -> None:
    """Eq. 5, teacher by teacher."""
    view, _ = drawn()
    known = torch.rand(40, 2, generator=torch.Generator().manual_seed(1)).double()
    fitted = EnergyGaussians.fit(view.energies, known, torch.ones(len(known), dtype=torch.float64))
    ratios = fitted.log_ratios(view.energies)
    for i in range(2):
        e, parts = view.energies[:, i].numpy(), []
        for w in (known[:, i].numpy(), 1 - known[:, i].numpy()):
            mean = (w * e).sum() / w.sum()
            parts.append((mean, (w * (e - mean) ** 2).sum() / w.sum() + 0.01))
        (m, v), (m2, v2) = parts
        for x in (0, 17, 39):
            log = -0.5 * (e[x] - m) ** 2 / v - 0.5 * math.log(v) + 0.5 * (e[x] - m2) ** 2 / v2 + 0.5 * math.log(v2)
            assert float(ratios[x, i]) == pytest.approx(log)
        assert float(fitted.separation()[i]) == pytest.approx((m - m2) / math.sqrt((v + v2) / 2))


def test_the_start() -> None:
    """Eq. 3."""
    view, p = drawn()
    weights, r = initial_weights(view.energies), initial_responsibilities(view, OWNERS)
    e = view.energies.numpy()
    sd = (e - e.mean(1, keepdims=True)).std()
    for x in (0, 5):
        g = np.exp(e[x] / sd) / np.exp(e[x] / sd).sum()
        assert weights[x].tolist() == pytest.approx(g.tolist())
        a = [float(p[0][x, 0]), float(p[0][x, 1]), math.sqrt(float(p[0][x, 2] * p[1][x, 0])), float(p[1][x, 1])]
        each = [a[0] * g[0], a[1] * g[0], a[2], a[3] * g[1]]
        assert r[x].tolist() == pytest.approx([v / sum(each) for v in each])
    assert torch.isfinite(initial_weights(torch.ones(3, 2).double())).all(), "energies that do not differ"


def test_cross_fitting_scores_each_half_by_the_other_half_s_mixture() -> None:
    view, _ = drawn()
    found = cross_fit(view, OWNERS)
    half = random_half(40)
    assert int(half.sum()) == 20
    for x in (0, 7, 39):
        others = torch.tensor([k for k in range(40) if half[k] != half[x]])
        part, one = LabelMixture.fit(view.part(others), OWNERS), view.part(torch.tensor([x]))
        torch.testing.assert_close(found.scores[x : x + 1], part.scores(one, OWNERS))
        torch.testing.assert_close(found.state_scores[x : x + 1], part.state_scores(one) - one.answers)


def test_the_inverse_temperature_is_what_the_halves_agree_on() -> None:
    """Eq. 9, against a search over all α."""
    g = torch.Generator().manual_seed(0)
    scores = 3 * torch.randn(60, 4, generator=g).double()
    other = 0.7 * scores + 3 * torch.randn(60, 4, generator=g).double()

    def known(row: list[float], alpha: float) -> list[float]:
        each = [math.exp(alpha * v) for v in row]
        return [sum(each[:3]) / sum(each), sum(each[2:]) / sum(each)]

    first = [max((0, 1), key=known(row, 1.0).__getitem__) for row in scores.tolist()]

    def likelihood(alpha: float) -> float:
        return sum(math.log(known(row, alpha)[i]) for row, i in zip(other.tolist(), first, strict=True))

    best = max((k / 1000 for k in range(20, 1001)), key=likelihood)
    assert 0.05 < best < 0.9
    assert float(fit_inverse_temperature(scores, other, OWNERS)) == pytest.approx(best, abs=0.002)
    assert float(fit_inverse_temperature(scores, scores, OWNERS)) == pytest.approx(1, abs=1e-3)
    second = [max((0, 1), key=known(row, 1.0).__getitem__) for row in other.tolist()]
    common = [int(a.argmax()) == int(b.argmax()) == 2 for a, b in zip(scores, other, strict=True)]  # both know label 2
    same = sum(a == b or c for a, b, c in zip(first, second, common, strict=True)) / 60
    assert float(same_teacher(scores, other, OWNERS).double().mean()) == pytest.approx(same)


def test_the_skill_of_the_states() -> None:
    """Eq. 10, text by text; 1 for states that always choose the answered label, 0 for chance."""
    g = torch.Generator().manual_seed(0)
    scores, states, answers = (torch.randn(80, 4, generator=g).double() for _ in range(3))
    r = torch.softmax(scores, -1).tolist()
    own = [[0, 1, 2] if sum(row[:3]) >= row[2] + row[3] else [2, 3] for row in r]
    answered = [max(labels, key=answers[x].tolist().__getitem__) for x, labels in enumerate(own)]
    chosen = [max(labels, key=states[x].tolist().__getitem__) for x, labels in enumerate(own)]
    chance = 0
    for group in ([0, 1, 2], [2, 3]):
        inside = [a for a, labels in zip(answered, own, strict=True) if labels == group]
        chance += max((inside.count(c) for c in group), default=0)
    hits = sum(a == b for a, b in zip(answered, chosen, strict=True)) / 80
    wanted = (hits - chance / 80) / (1 - chance / 80)
    assert label_skill(scores, states, answers, OWNERS) == pytest.approx(wanted)
    assert label_skill(scores, answers, answers, OWNERS) == 1
    constant = torch.tensor([5.0, 0, 0, 0]).double().expand(80, 4)
    assert label_skill(constant, constant, constant, OWNERS) == 1, "one answer to everything: nothing to measure"


def test_teacher_weights() -> None:
    """Eq. 7."""
    r = torch.tensor([[0.1, 0.2, 0.4, 0.3]]).double()
    assert teacher_weights(r, OWNERS)[0].tolist() == pytest.approx([0.5, 0.5])
    assert shares(torch.cat([r, r]), OWNERS).tolist() == pytest.approx([0.5, 0.5])


def test_the_margin_and_who_knows() -> None:
    """Eq. 8: a shared label counts for both of its owners, and for neither against the other."""
    space = LabelSpace.union([["a", "b", "c"], ["c", "d"], ["d", "e"]])
    drawn = torch.rand(30, 5, generator=torch.Generator().manual_seed(0)).double() ** 4
    r, owners = drawn / drawn.sum(-1, keepdim=True), space.has_label()
    k, found = knows_label(r, owners), routing_margin(r, owners)
    for x in range(30):
        known = [sum(float(r[x, c]) for c in range(5) if owners[i, c]) for i in range(3)]
        best = max(range(3), key=lambda i: known[i])
        rival = max(sum(float(r[x, c]) for c in range(5) if owners[j, c] and not owners[best, c]) for j in range(3))
        assert k[x].tolist() == pytest.approx(known)
        assert float(found[x]) == pytest.approx(max(0.0, known[best] - rival))
    assert float(routing_margin(torch.tensor([[0, 0, 1, 0, 0]]).double(), owners)) == pytest.approx(1)
    disjoint = LabelSpace.union([["a", "b"], ["c", "d", "e"]]).has_label()
    first, second = knows_label(r, disjoint).T
    torch.testing.assert_close(routing_margin(r, disjoint), (first - second).abs())


def test_a_teacher_without_an_answer_is_as_if_it_were_not_there() -> None:
    """It knows the labels of both others, which contradict each other: the text is not as sure as if it had answered."""
    names, groups = ("a", "b", "c", "d"), (("a", "b"), ("a", "c"), ("b", "d"))
    space, fewer = LabelSpace(names, groups), LabelSpace(names, groups[1:])
    owners, others = space.has_label(), fewer.has_label()
    g = torch.Generator().manual_seed(0)
    scores, halves, states, answers = (2 * torch.randn(50, 4, generator=g).double() for _ in range(4))
    r, energies = torch.softmax(scores, -1), torch.randn(50, 3, generator=g).double()
    answered = torch.tensor([[False, True, True]]).expand(50, 3)
    p = [torch.full((50, 2), 0.5), *(torch.softmax(3 * torch.randn(50, 2, generator=g), -1) for _ in range(2))]
    clear = torch.tensor([0.1, 0.9, 0.8]).double()
    assert float(routing_margin(torch.tensor([[0.5, 0.5, 0, 0]]).double(), owners, answered[:1])) == 0
    assert bool((knows_label(r, owners, answered)[:, 0] == 0).all())
    pairs = [
        (routing_margin(r, owners, answered), routing_margin(r, others)),
        (teacher_weights(r, owners, answered)[:, 1:], teacher_weights(r, others)),
        (evidence(energies, r, owners, answered), evidence(energies[:, 1:], r, others)),
        (same_teacher(scores, halves, owners, answered), same_teacher(scores, halves, others)),
        (same_label(scores, states, answers, owners, answered), same_label(scores, states, answers, others)),
        (fit_inverse_temperature(scores, halves, owners, answered), fit_inverse_temperature(scores, halves, others)),
        (confidence_of_answers(p, r, owners, clear, space, answered), confidence_of_answers(p[1:], r, others, clear[1:], fewer)),
        (clarity(p, r, owners, answered)[1:], clarity(p[1:], r, others)),
    ]  # fmt: skip
    for found, wanted in pairs:
        torch.testing.assert_close(found, wanted)
    assert label_skill(scores, states, answers, owners, answered) == label_skill(scores, states, answers, others)


def test_clarity_and_target() -> None:
    """Eqs. 11 and 12, text by text; teacher 2 is nearly flat, and the mixture says more of its labels."""
    g = torch.Generator().manual_seed(0)
    p = [torch.softmax(f * torch.randn(30, k, generator=g), -1) for k, f in ((3, 3.0), (2, 0.2))]
    r = torch.softmax(2 * torch.randn(30, 4, generator=g).double(), -1)
    b = clarity(p, r, OWNERS)
    for i, (q, labels) in enumerate(zip(p, ([0, 1, 2], [2, 3]), strict=True)):
        known = [sum(row[c] for c in labels) for row in r.tolist()]
        mean = sum(k * max(row) for k, row in zip(known, q.tolist(), strict=True)) / sum(known)
        assert float(b[i]) == pytest.approx((mean - 1 / len(labels)) / (1 - 1 / len(labels)))
    assert float(b[0]) > 0.4 > 0.2 > float(b[1])
    found = target(OVERLAPPING, p, r, b)
    for x in range(30):
        one, two, (ra, rb, rc, rd) = p[0][x].tolist(), p[1][x].tolist(), r[x].tolist()
        first, second, (b1, b2) = ra + rb + rc / 2, rc / 2 + rd, b.tolist()
        wanted = [
            first * (b1 * one[0] + (1 - b1) * ra / (ra + rb + rc)),
            first * (b1 * one[1] + (1 - b1) * rb / (ra + rb + rc)),
            first * (b1 * one[2] + (1 - b1) * rc / (ra + rb + rc)) + second * (b2 * two[0] + (1 - b2) * rc / (rc + rd)),
            second * (b2 * two[1] + (1 - b2) * rd / (rc + rd)),
        ]
        assert found[x].tolist() == pytest.approx(wanted, abs=1e-6)
    certain = torch.tensor([[1.0, 0, 0, 0]]).double()
    assert torch.isfinite(target(OVERLAPPING, [q[:1] for q in p], certain, b)).all(), "a teacher with no mass"


def rows_with_states(n: int, seed: int = 0, encoder: bool = True) -> Rows:
    g = torch.Generator().manual_seed(seed)
    teachers = tuple(
        TeacherRows(torch.randn(n, 2, generator=g), pooled_states=(torch.randn(n, 5, generator=g).half(),) * 2)
        for _ in range(2)
    )
    return Rows(teachers, text_states=torch.randn(n, 4, generator=g).half() if encoder else None)


@pytest.mark.parametrize(("columns", "rows_at_once"), [(1024, 1024), (7, 33)])
def test_the_states_of_teachers_and_encoder(columns: int, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. 1: the encoder's part has four times the variance of the teachers'; the components' mean variance is 1. Also in parts."""
    monkeypatch.setattr(states, "COLUMNS", columns)
    monkeypatch.setattr(states, "ROWS", rows_at_once)
    rows = rows_with_states(200)
    raw, of_teachers = raw_states(rows)
    assert (tuple(raw.shape), of_teachers) == ((200, 24), 20)
    torch.testing.assert_close(raw[:, 20:].norm(dim=-1), torch.ones(200))
    space = StateSpace.fit(raw, of_teachers, 24)
    h = (raw.double() - space.shift) * space.scale
    assert float(h[:, :20].var(0, correction=0).sum()) == pytest.approx(1)
    assert float(h[:, 20:].var(0, correction=0).sum()) == pytest.approx(4)
    z = space(raw)
    assert float(z.var(0).mean()) == pytest.approx(1, rel=1e-4)
    values = np.linalg.eigvalsh(np.cov(h.numpy().T))[::-1][: z.shape[1]]
    np.testing.assert_allclose(z.var(0).numpy(), values / values.mean(), rtol=1e-3, atol=1e-6)


def test_components_are_few_where_texts_are() -> None:
    raw, of_teachers = raw_states(rows_with_states(40))
    assert StateSpace.fit(raw, of_teachers, 128)(raw).shape == (40, 10)
    alone, everything = raw_states(rows_with_states(40, encoder=False))
    assert (alone.shape[1], everything) == (20, 20)
    assert StateSpace.fit(alone, everything, 3)(alone).shape == (40, 3)
    with pytest.raises(TypeError, match="pooled states, or the states of an encoder"):
        raw_states(Rows((TeacherRows(torch.zeros(2, 2)),)))


def test_early_layers() -> None:
    assert [early_layers(n) for n in (1, 2, 3, 6, 12)] == [(0, 1), (0, 1), (0, 1, 2), (0, 2, 4), (0, 4, 8)]
