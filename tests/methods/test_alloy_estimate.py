"""Alloy's estimated accuracy (docs/methods/alloy.md, Eqs. 16, 17), text by text."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from alloy_views import OVERLAPPING, OWNERS, drawn

from alloykit.methods.alloy.cross_fit import CrossFitted, label_skill, same_teacher
from alloykit.methods.alloy.estimate import DOUBT, TOO_LOW, USUALLY, estimate, estimate_from_labels, estimate_of
from alloykit.methods.alloy.mixture import LabelMixture, View
from alloykit.methods.alloy.pool_view import PoolView
from alloykit.methods.alloy.states import StateSpace
from alloykit.methods.alloy.target import confidence_of_answers
from alloykit.methods.alloy.views import UNLIKE, label_agreement, two_views


def test_the_estimated_accuracy() -> None:
    """Eqs. 16 and 17, text by text."""
    g = torch.Generator().manual_seed(3)
    scores = 3 * torch.randn(90, 4, generator=g).double()
    scores[:, 0] -= 100  # a label that no text gets
    other, states, answers = (scores + 2 * torch.randn(90, 4, generator=g).double() for _ in range(3))

    def teacher(row: list[float]) -> int:
        each = [math.exp(v) for v in row]
        return 0 if sum(each[:3]) >= each[2] + each[3] else 1

    def most_likely(row: list[float]) -> int:
        return row.index(max(row))

    same, label = [], []
    for x in range(90):
        i = teacher(scores[x].tolist())
        own = [0, 1, 2] if i == 0 else [2, 3]
        rows = scores[x].tolist(), other[x].tolist()
        same.append(
            teacher(rows[0]) == teacher(rows[1]) or [most_likely(row) for row in rows] == [2, 2]
        )  # both know label 2
        label.append(max(own, key=states[x].tolist().__getitem__) == max(own, key=answers[x].tolist().__getitem__))
    confidence = 0.5 + 0.5 * torch.rand(90, generator=g).double()
    halves = CrossFitted(other, states)
    both = same_teacher(scores, other, OWNERS)
    by_halves = estimate(scores, both, halves, answers, confidence, OWNERS, views=False)
    found = estimate(scores, both, halves, answers, confidence, OWNERS, views=True)
    share = sum(same) / 90
    assert 0.3 < share < 0.95
    assert float(found["estimated_accuracy"] / by_halves["estimated_accuracy"]) == pytest.approx(share**-0.25)
    whole = share**0.75 * (label_skill(scores, states, answers, OWNERS) + sum(confidence.tolist()) / 90) / 2
    assert 0.1 < whole < 0.9
    assert float(found["estimated_accuracy"]) == pytest.approx(whole)
    for c in range(1, 4):
        at = [x for x in range(90) if int(scores[x].argmax()) == c]
        share = sum(same[x] for x in at) * sum(label[x] for x in at) / len(at) ** 2
        wanted = min(1.0, whole * share / (sum(same) * sum(label) / 90**2))
        assert float(found["estimated_by_label"][c]) == pytest.approx(wanted)
    read = estimate_of({**found, "skill": torch.tensor(1.0), "estimated_with": torch.tensor(7)})
    assert read is not None
    assert read.by_label[0] is None, "no text has this label"
    assert (read.overall, read.labelled_texts) == (pytest.approx(whole), 7)
    assert estimate_of({}) is None
    low, high = UNLIKE - 0.01, UNLIKE
    cases = ((low, 0.1, 0, DOUBT), (low, 0.9, 0, DOUBT), (high, 0.9, 0, ""), (high, 0.3, 0, TOO_LOW), (low, 0.3, 7, ""))
    for kappa, skill, labelled, doubt in cases:
        measured = {"label_agreement": torch.tensor(kappa), "skill": torch.tensor(skill)}
        of_this = estimate_of({**found, **measured, "estimated_with": torch.tensor(labelled)})
        assert of_this is not None
        assert of_this.doubt == doubt
        assert of_this.tested == ("" if labelled else USUALLY)
    rho = torch.tensor([[0.9, 0.1, 0, 0], [0.7, 0.2, 0.1, 0], [0.3, 0.6, 0.1, 0]]).double()
    by_labels = estimate_from_labels(rho, 5)
    assert float(by_labels["estimated_accuracy"]) == pytest.approx(2.2 / 3)
    assert by_labels["estimated_by_label"][:2].tolist() == pytest.approx([0.8, 0.6])
    assert int(by_labels["estimated_with"]) == 5


def test_two_views_of_the_states() -> None:
    """One mixture sees the teachers' states only, the other the encoder's; None where there is one kind of states."""
    view, _ = drawn(80)
    g = torch.Generator().manual_seed(5)
    states = torch.cat([view.z.float(), view.z.float() + 2 * torch.randn(80, 3, generator=g)], -1)
    scores = []
    for columns, of_teachers in ((slice(0, 3), 3), (slice(3, 6), 0)):
        part = states[:, columns]
        seen = View(StateSpace.fit(part, of_teachers, 128)(part), view.answers, view.energies)
        scores.append(LabelMixture.fit(seen, OWNERS).scores(seen, OWNERS))
    texts = PoolView(view, torch.arange(80), [], states, 3)
    found = two_views(texts, 128, OWNERS, background=False)
    assert found is not None
    assert all(torch.equal(view, expected) for view, expected in zip(found, scores, strict=True))
    assert 0.3 < float(same_teacher(*found, OWNERS).double().mean()) < 1
    for of_teachers in (0, 6):
        assert two_views(replace(texts, of_teachers=of_teachers), 128, OWNERS, background=False) is None


def test_how_often_two_views_name_the_same_label() -> None:
    """Eq. 27, text by text."""
    g = torch.Generator().manual_seed(6)
    one = torch.randn(50, 4, generator=g).double()
    other = one + torch.randn(50, 4, generator=g).double()
    names, others = one.argmax(-1).tolist(), other.argmax(-1).tolist()
    agree = sum(a == b for a, b in zip(names, others, strict=True)) / 50
    chance = sum(names.count(c) / 50 * others.count(c) / 50 for c in range(4))
    assert label_agreement(one, other) == pytest.approx((agree - chance) / (1 - chance))
    assert label_agreement(one, one) == 1
    always = torch.eye(4).double()[[2] * 50]
    assert label_agreement(always, always) == 1, "one label for all texts"
    assert label_agreement(one[:0], other[:0]) == 1, "no text outside of the background"


def test_the_confidence_of_an_answer() -> None:
    """The brackets of Eq. 12 for the most likely teacher."""
    _, p = drawn()
    g = torch.Generator().manual_seed(2)
    r, clear = torch.softmax(3 * torch.randn(40, 4, generator=g).double(), -1), torch.tensor([0.7, 0.2]).double()
    found = confidence_of_answers(p, r, OWNERS, clear, OVERLAPPING)
    for x in (0, 7, 31):
        known = [sum(float(r[x, c]) for c in own) for own in ((0, 1, 2), (2, 3))]
        i = known.index(max(known))
        own = ((0, 1, 2), (2, 3))[i]
        b = float(clear[i])
        each = [b * float(p[i][x, k]) + (1 - b) * float(r[x, c]) / known[i] for k, c in enumerate(own)]
        assert float(found[x]) == pytest.approx(max(each))
