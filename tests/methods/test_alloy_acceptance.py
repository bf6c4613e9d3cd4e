"""Whether Alloy's fit is used, and the ensemble in its place (Eqs. 10, 27, 31, 32)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from alloy_views import OWNERS, drawn
from constructed_pools import Pool as Blobs
from random_rows import Pool, made
from scipy.stats import chi2_contingency

from alloykit.methods.alloy.acceptance import ACCEPTED, NO_AGREEMENT, NO_SKILL, least_agreement, outcome_of
from alloykit.methods.alloy.by_ensemble import by_ensemble, ensemble_accuracy
from alloykit.methods.alloy.cross_fit import same_teacher
from alloykit.methods.alloy.views import ViewAgreement, label_agreement
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows
from alloykit.testing.rows import unanswered


def test_the_outcome_of_a_fit() -> None:
    assert [outcome_of(skill, None) for skill in (1.0, 0.34, 0.33, -0.2)] == [ACCEPTED, ACCEPTED, NO_SKILL, NO_SKILL]
    views = [ViewAgreement(labels, teachers, 2) for labels in (0.54, 0.56) for teachers in (0.26, 0.28)]
    assert [outcome_of(0.8, each) for each in views] == [NO_AGREEMENT, ACCEPTED, ACCEPTED, ACCEPTED]
    of_many = [ViewAgreement(0.33, teachers, n) for n, teachers in ((4, 0.15), (4, 0.16), (10, 0.08), (10, 0.1))]
    assert [outcome_of(0.8, each) for each in of_many] == [NO_AGREEMENT, ACCEPTED, NO_AGREEMENT, ACCEPTED]
    assert [outcome_of(0.1, each) for each in views] == [NO_SKILL, NO_SKILL, ACCEPTED, ACCEPTED]


def test_labelled_texts_can_accept_a_fit() -> None:
    pairs = ((0.6, 0.5), (0.5, 0.5), (0.4, 0.5))
    assert [outcome_of(0.1, None, *pair) for pair in pairs] == [ACCEPTED, NO_SKILL, NO_SKILL]
    doubtful = ViewAgreement(0.1, 0.1, 2)
    assert [outcome_of(0.8, doubtful, *pair) for pair in pairs] == [ACCEPTED, NO_AGREEMENT, NO_AGREEMENT]


def test_the_agreement_of_two_views() -> None:
    """With a label that two teachers share: who answers it does not matter."""
    one, other = drawn(60, 0)[0].answers, drawn(60, 1)[0].answers
    same = float(same_teacher(one, other, OWNERS).double().mean())
    found = ViewAgreement.of(one, other, OWNERS)
    assert found.labels == label_agreement(one, other)
    assert 0 < same < 1
    assert found.teachers == pytest.approx((same - 1 / len(OWNERS)) / (1 - 1 / len(OWNERS)))
    assert ViewAgreement.of(one, one, OWNERS) == ViewAgreement(1, 1, len(OWNERS))
    assert ViewAgreement.of(one, other, OWNERS.repeat(2, 1)).among == 2 * len(OWNERS)
    assert ViewAgreement.of(one[:0], other[:0], OWNERS) == ViewAgreement(1, 1, len(OWNERS))


@pytest.mark.parametrize("n", [2, 3, 4, 10])
def test_the_limit_is_one_of_the_dependence_of_two_choices(n: int) -> None:
    """A table of n × n choices: each teacher is chosen equally often, and all disagreements are equally frequent. φ by SciPy."""
    agreement = least_agreement(n)
    same, texts = 1 / n + agreement * (1 - 1 / n), 9000 * n
    table = torch.full((n, n), texts * (1 - same) / (n * (n - 1))).fill_diagonal_(texts * same / n)
    phi = (chi2_contingency(table.numpy(), correction=False).statistic / texts) ** 0.5
    assert phi == pytest.approx(0.27, abs=1e-6)


def test_a_fit_that_labels_no_more_texts_correctly_than_the_ensemble() -> None:
    """The states are drawn at random, and each teacher is much surer of its own texts, so the ensemble is always right."""
    pool, g = Blobs((60, 60, 60, 60)), torch.Generator().manual_seed(1)
    owner, owners, noise = pool.labels, pool.space.has_label(), torch.randn(240, pool.widths[0], generator=g).half()
    teachers = tuple(
        replace(t, logits=t.logits * (1 + 9 * owners[i, owner].float())[:, None], pooled_states=(noise,) * 3)
        for i, t in enumerate(pool.everything.teachers)
    )
    pool.everything = Rows(teachers)
    labelled = Pool(Rows(teachers, labels=pool.labels))
    context = Context(pool.space, teachers=(ModelShape(6, 3),) * 2, labelled=labelled)
    state = create("alloy").fit(pool, context)
    assert float(state["skill"]) < 1 / 3
    assert 0 < float(state["labelled_accuracy"]) <= ensemble_accuracy(context) == 1
    assert int(state["outcome"]) == NO_SKILL


@pytest.mark.parametrize("kind", ["disjoint", "overlapping"])
def test_the_target_is_that_of_vanilla_kd(kind: str) -> None:
    _, rows, context = made({"name": "alloy"}, kind)
    answered = torch.arange(12)[:, None] % 5 != torch.arange(3)[None]
    rows = unanswered(rows, answered)
    found, theirs = by_ensemble(rows, context, answered), create("vanilla_kd").supervise(rows, context)
    assert theirs is not None
    torch.testing.assert_close(found.targets, theirs.targets)
    assert found.weights.tolist() == [1.0] * 12
    assert found.teacher_weights is not None
    assert bool((found.teacher_weights[~answered] == 0).all())


def test_how_many_labelled_texts_the_ensemble_labels_correctly() -> None:
    _, rows, context = made({"name": "alloy"}, "disjoint")
    logits = torch.cat([t.logits for t in rows.teachers], -1)
    names = [name for labels in context.space.teachers for name in labels]
    said = [context.space.names.index(names[at]) for at in logits.argmax(-1).tolist()]
    labels = torch.tensor([at if x % 3 else (at + 1) % context.space.size for x, at in enumerate(said)])
    labelled = Pool(replace(rows, labels=labels))
    assert ensemble_accuracy(replace(context, labelled=labelled)) == pytest.approx(8 / 12)
    lost = torch.ones(12, 3, dtype=torch.bool)
    lost[0] = ~context.space.has_label()[:, labels[0]]  # nobody who knows its label has an answer to the first text
    labelled = Pool(replace(unanswered(rows, lost), labels=labels))
    assert ensemble_accuracy(replace(context, labelled=labelled)) == pytest.approx(8 / 11)
    with pytest.raises(ValueError, match="no labelled texts"):
        ensemble_accuracy(context)
