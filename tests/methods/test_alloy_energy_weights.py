"""How much a text counts by the energies (docs/methods/alloy.md, Eqs. 28, 29), against a plain float64 loop."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from constructed_pools import Pool, right, routed
from random_rows import made

from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.energies import EnergyGaussians
from alloykit.methods.alloy.energy_weights import EnergyWeights, evidence
from alloykit.methods.alloy.routing import routing_margin
from alloykit.methods.requirements import supervised

USED: dict[str, Any] = {"name": "alloy", "texts_per_label": 1, "min_texts": 1}
DISJOINT = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
OVERLAPPING = [[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
ONE_KNOWS_ALL = [[1, 1, 1, 1, 1], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]


def gaussians(apart: float) -> EnergyGaussians:
    """Of three teachers, whose means are 1.2, 1 and 0.8 times `apart` standard deviations from each other. A standard deviation is 0.8, 1 and 1.1."""
    deviation = torch.tensor([0.8, 1.0, 1.1], dtype=torch.float64)
    known = torch.tensor([0.6, 0.5, 0.4]).double() * apart * deviation + torch.tensor([0.1, 0.0, -0.2]).double()
    unknown = known - torch.tensor([1.2, 1.0, 0.8], dtype=torch.float64) * apart * deviation
    widths = torch.tensor([[0.8, 1.0, 1.1], [1.2, 1.0, 0.9]], dtype=torch.float64)
    widths = widths / ((widths[0].square() + widths[1].square()) / 2).sqrt() * deviation
    return EnergyGaussians(known, widths[0], unknown, widths[1])


def drawn(owners: torch.Tensor, n: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    """Energies [n, 3] and responsibilities [n, 5]."""
    generator = torch.Generator().manual_seed(1)
    energies = torch.randn(n, len(owners), generator=generator, dtype=torch.float64)
    return energies, torch.softmax(2 * torch.randn(n, owners.shape[1], generator=generator, dtype=torch.float64), -1)


def evidence_in_a_loop(e: list[float], r: list[float], owners: list[list[int]], answered: list[bool]) -> float:
    labels, teachers = range(len(r)), range(len(e))
    of_label = [sum(e[i] for i in teachers if owners[i][c] and answered[i]) for c in labels]
    who = max((i for i in teachers if answered[i]), key=lambda i: sum(r[c] for c in labels if owners[i][c]))
    best = max((c for c in labels if owners[who][c]), key=lambda c: r[c])
    others = [of_label[c] for c in labels if not owners[who][c] and any(owners[i][c] and answered[i] for i in teachers)]
    return of_label[best] - (max(others) if others else 0)


@pytest.mark.parametrize("known", [DISJOINT, OVERLAPPING, ONE_KNOWS_ALL], ids=["disjoint", "overlapping", "all"])
@pytest.mark.parametrize("partly", [False, True], ids=["all answers", "some answers"])
def test_the_weights(known: list[list[int]], partly: bool) -> None:
    owners, fitted = torch.tensor(known).bool(), gaussians(3.0)
    energies, r = drawn(owners)
    answered = torch.arange(40)[:, None] % 4 != torch.arange(3)[None] if partly else None
    weights = EnergyWeights.fit(fitted, energies, r, owners, answered)
    assert weights is not None
    m, s, m_, s_ = (
        getattr(fitted, name).tolist()
        for name in ("known_mean", "known_deviation", "unknown_mean", "unknown_deviation")
    )
    gamma = [[0.0] * 3 for _ in range(40)]
    for x in range(40):
        there = [True] * 3 if answered is None else answered[x].tolist()
        for c in range(5):
            who = [i for i in range(3) if known[i][c] and there[i]]
            for i in who:
                gamma[x][i] += float(r[x, c]) / len(who)
    tau = sum(sum(g[i] for g in gamma) / 40 * (m[i] - m_[i]) / ((s[i] ** 2 + s_[i] ** 2) / 2) for i in range(3))
    raw = []
    for x in range(40):
        e = [float(energies[x, i]) - (m[i] + m_[i]) / 2 for i in range(3)]
        there = [True] * 3 if answered is None else answered[x].tolist()
        raw.append(math.log(1 + math.exp(tau * evidence_in_a_loop(e, r[x].tolist(), known, there))))
    expected = torch.tensor(raw, dtype=torch.float64) / (sum(raw) / 40)
    torch.testing.assert_close(weights(energies, r, owners, answered), expected)
    restored = EnergyWeights.of(weights.state(), torch.device("cpu"))
    assert restored is not None
    torch.testing.assert_close(restored(energies, r, owners, answered), expected)


def test_energies_that_say_little_have_no_weight() -> None:
    """The mean separation decides, 2 standard deviations and more; a teacher counts as much as it has texts."""
    owners = torch.tensor(DISJOINT).bool()
    energies, _ = drawn(owners, 39)
    r = torch.eye(5, dtype=torch.float64)[[0, 2, 4] * 13]
    assert EnergyWeights.fit(gaussians(1.99), energies, r, owners) is None
    assert EnergyWeights.fit(gaussians(2.01), energies, r, owners) is not None
    assert EnergyWeights.fit(gaussians(-3.0), energies, r, owners) is None
    few = gaussians(1.9)  # the first teacher alone has 2.3
    assert EnergyWeights.fit(few, energies, torch.eye(5, dtype=torch.float64)[[0] * 38 + [4]], owners) is not None
    assert EnergyWeights.fit(few, energies, torch.eye(5, dtype=torch.float64)[[0] + [4] * 38], owners) is None
    assert EnergyWeights.of({}, torch.device("cpu")) is None


def test_a_text_whose_energies_contradict_the_mixture_hardly_counts() -> None:
    owners = torch.tensor(DISJOINT).bool()
    r = torch.tensor([[0.9, 0.1, 0, 0, 0]] * 3, dtype=torch.float64)
    energies = torch.tensor([[1.5, -1.0, -1.0], [0.1, 0.0, 0.0], [-1.0, 1.5, -1.0]], dtype=torch.float64)
    weights = EnergyWeights.fit(gaussians(3.0), energies, r, owners)
    assert weights is not None
    agree, undecided, contradict = weights(energies, r, owners).tolist()
    assert agree > 3 * undecided
    assert contradict < 0.01 * agree


@pytest.mark.parametrize("background", [False, True])
def test_they_multiply_the_margin(background: bool) -> None:
    """v of Eq. 22, with a mixture whose energies were made clear."""
    method, rows, context = made(USED | {"background": background}, "disjoint", 60)
    state = {key: value for key, value in context.state.items() if not key.startswith("energy_weights")}
    context = replace(context, state=state | {"outcome": torch.tensor(ACCEPTED)})
    view, owners = method._seen(rows, context), context.space.has_label()
    chosen = ChosenMixture.of(context.state, torch.device("cpu"))
    r = torch.softmax(context.state["inverse_temperature"] * chosen.scores(view, owners), -1)
    before = supervised(method, rows, context, 60)
    assert chosen.has_background == background
    u = chosen.counts(view, owners) if background else torch.ones(60, dtype=torch.float64)
    torch.testing.assert_close(before.weights.double(), u * routing_margin(r, owners) + 1e-6, rtol=1e-5, atol=1e-8)

    weights = EnergyWeights.fit(gaussians(3.0), view.energies, r, owners)
    assert weights is not None
    after = supervised(method, rows, replace(context, state=context.state | weights.state()), 60)
    expected = u * weights(view.energies, r, owners) * routing_margin(r, owners) + 1e-6
    torch.testing.assert_close(after.weights.double(), expected, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(after.targets, before.targets)
    assert float((after.weights - before.weights).abs().max()) > 0.05


def test_e_does_not_depend_on_labels_that_the_teacher_knows_too() -> None:
    """A label of two teachers: the text counts by both, and neither contradicts the other."""
    owners = torch.tensor([[True, True, False], [False, True, True]])
    energies = torch.tensor([[2.0, 2.0]], dtype=torch.float64)
    shared = torch.tensor([[0.05, 0.9, 0.05]], dtype=torch.float64)
    assert float(evidence(energies, shared, owners)) == pytest.approx(
        2.0
    )  # ε of the shared label 4, of the other one 2


def test_the_report_says_whether_texts_count_by_their_energies() -> None:
    method, _, context = made(USED, "disjoint", 60)
    state = {key: value for key, value in context.state.items() if not key.startswith("energy_weights")}
    state |= {"outcome": torch.tensor(ACCEPTED), "mean_separation": torch.tensor(2.2)}

    def told(more: dict[str, torch.Tensor]) -> str:
        report = method.fit_report(replace(context, state=state | more), ["a", "b", "c"])
        return report.model_dump_json()

    weights = EnergyWeights(*torch.ones(2, dtype=torch.float64), torch.zeros(3, dtype=torch.float64))
    assert "The mean over the texts is 2.2, at least 2.0: the energies are clear" in told(weights.state())
    assert "does not depend on its energies" in told({})


@pytest.mark.parametrize("clear", [True, False])
def test_the_fit_decides(clear: bool) -> None:
    """A pool in which every energy says clearly whose text it is, but for ten texts whose energies say the opposite; and one with weak energies."""
    pool = Pool((150, 150, 150, 150), apart=6.0)
    odd = torch.arange(len(pool)) % 60 == 0
    if clear:
        teachers = []
        for i, teacher in enumerate(pool.everything.teachers):
            own = pool.space.has_label()[i][pool.labels] ^ odd
            raised = teacher.logits / 3 + torch.where(own, 5.0, 1.0)[:, None]
            teachers.append(replace(teacher, logits=raised))
        pool.everything = replace(pool.everything, teachers=tuple(teachers))
    owner, v, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.95
    assert notes["by_energies"] == clear
    assert (notes["mean_separation"] >= 2) == clear
    if clear:
        assert float(v[odd].mean()) < 0.3 * float(v[~odd].mean())
        assert float(v.mean()) == pytest.approx(1, abs=0.1)
    else:
        assert float(v[odd].mean()) > 0.8
