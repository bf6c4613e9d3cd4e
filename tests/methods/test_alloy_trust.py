"""When Alloy's fit is not used, what it says then, and what it warns of."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from constructed_pools import Pool, by_energy_in_a_loop, routed

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import ACCEPTED, NO_AGREEMENT, NO_SKILL, TOO_FEW
from alloykit.methods.alloy.by_energy import by_energy, energy_weights
from alloykit.methods.alloy.method import log_answers
from alloykit.methods.alloy.options import AlloyOptions
from alloykit.methods.alloy.report import no_agreement, no_skill
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows


def follows_the_energies(pool: Pool) -> None:
    """Weights, targets and v are those of Eqs. 25 and 26, by a plain loop."""
    method, shapes = create("alloy"), tuple(ModelShape(w, 3) for w in pool.widths)
    state = method.fit(pool, Context(pool.space, teachers=shapes))
    found = method.supervise(pool.rows(range(len(pool))), Context(pool.space, dict(state), teachers=shapes))
    assert found is not None
    for values, wanted in zip(
        (found.teacher_weights, found.targets, found.weights), by_energy_in_a_loop(pool), strict=True
    ):
        torch.testing.assert_close(values, torch.tensor(wanted), rtol=1e-4, atol=2e-6)


def follows_the_ensemble(pool: Pool) -> None:
    """Targets and weights are those of Eq. 32, by a plain loop: the softmax of all logits together, for disjoint label sets."""
    method, shapes = create("alloy"), tuple(ModelShape(w, 3) for w in pool.widths)
    state = method.fit(pool, Context(pool.space, teachers=shapes))
    found = method.supervise(pool.rows(range(len(pool))), Context(pool.space, dict(state), teachers=shapes))
    assert found is not None
    assert found.teacher_weights is not None
    for x in range(len(pool)):
        each = [[math.exp(z) for z in t.logits[x].double().tolist()] for t in pool.everything.teachers]
        total = sum(map(sum, each))
        by_name = {
            name: e / total
            for labels, own in zip(pool.space.teachers, each, strict=True)
            for name, e in zip(labels, own, strict=True)
        }
        assert found.targets[x].tolist() == pytest.approx([by_name[name] for name in pool.space.names], abs=1e-6)
        assert found.teacher_weights[x].tolist() == pytest.approx([sum(own) / total for own in each], abs=1e-6)
    assert found.weights.tolist() == [1.0] * len(pool)


def test_by_energy_with_a_shared_label_and_uneven_numbers_of_labels() -> None:
    follows_the_energies(Pool((15, 15, 15, 15), (("a", "b", "c"), ("c", "d"))))


def test_without_the_mixture_a_teacher_that_another_one_contradicts_counts_less() -> None:
    """The second teacher knows two of the first one's four labels and has the larger energy. The first one says that it is neither of the two."""
    space = LabelSpace.union((("a", "b", "c", "d"), ("a", "b")))
    first, second = torch.tensor([[0.05, 0.02, 0.90, 0.03]]), torch.tensor([[0.95, 0.05]])
    rows, energies = Rows((TeacherRows(first.log()), TeacherRows(second.log()))), torch.tensor([[0.0, 1.0]]).double()
    owners, answers = space.has_label(), log_answers(space, [first, second])
    assert energy_weights(energies, owners, None)[0, 1] > 0.75
    found = by_energy(rows, answers, energies, space, None)
    assert space.names[int(found.targets.argmax())] == "c"
    assert found.targets.sum() == pytest.approx(1)
    assert found.teacher_weights is not None
    assert found.teacher_weights[0, 0] > 0.6
    agreed = torch.tensor([[0.90, 0.02, 0.05, 0.03]])
    rows, answers = Rows((TeacherRows(agreed.log()), TeacherRows(second.log()))), log_answers(space, [agreed, second])
    assert by_energy(rows, answers, energies, space, None).targets[0, 0] > 0.9


def test_by_energy_a_text_between_two_teachers_hardly_counts() -> None:
    """Its margin is 0; its weight is not."""
    space, even = LabelSpace.union((("a", "b"), ("c", "d"))), torch.zeros(1, 2)
    rows, answers = Rows((TeacherRows(even),) * 2), log_answers(space, [torch.softmax(even, -1)] * 2)
    assert by_energy(rows, answers, torch.zeros(1, 2), space, None).weights.tolist() == [pytest.approx(1e-6)]


def test_too_few_texts_go_by_energy_and_the_run_says_so() -> None:
    pool = Pool((15, 15, 15, 15))
    _, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == TOO_FEW
    assert notes["warnings"] == [
        "60 texts are too few to fit the mixture (100 are needed): instead, the teachers' energies and numbers of labels decide how much each of them teaches."
    ]
    follows_the_energies(pool)
    spec = {"name": "alloy", "texts_per_label": 15, "min_texts": 60}
    assert int(routed(spec, pool)[2]["outcome"]) == ACCEPTED
    assert int(routed(spec | {"texts_per_label": 16}, pool)[2]["outcome"]) == TOO_FEW


def test_states_that_say_nothing_are_not_used() -> None:
    """States drawn at random: they cannot tell a teacher's own labels apart."""
    pool, g = Pool((100, 100, 100, 100)), torch.Generator().manual_seed(1)
    noise = (torch.randn(400, pool.widths[0], generator=g).half(),) * 3
    pool.everything = Rows(tuple(replace(t, pooled_states=noise) for t in pool.everything.teachers))
    _, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == NO_SKILL
    assert notes["skill"] < 1 / 3
    [warning] = notes["warnings"]
    assert warning.startswith(
        f"the states of the texts cannot tell the labels of one teacher apart (skill {notes['skill']:.2f}, "
    )
    assert "(skill −0.05, at least 0.33 is needed)" in no_skill(-0.05, AlloyOptions())
    follows_the_ensemble(pool)


def test_equal_label_sets_share_every_text() -> None:
    pool = Pool((200, 200), (("a", "b"), ("b", "a")))
    _, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
    assert notes["shares"]["teacher 1"][-1] == pytest.approx(0.5)
    assert float(v.min()) > 0.99, "no teacher is against another"


def test_a_teacher_without_texts_is_warned_of() -> None:
    method, pool = create("alloy"), Pool((100, 100, 100, 100))
    state = dict(method.fit(pool, Context(pool.space, teachers=(ModelShape(6, 3),) * 2)))
    state["history"] = torch.tensor([[0.5, 0.5], [0.999, 0.001]])
    [warning] = method.fit_report(Context(pool.space, state), ["one", "two"]).warnings
    assert warning == "teacher 'two' gets only 0.1 % of the pool: check that the pool has texts of its labels."


def test_a_label_that_lost_its_texts_is_warned_of() -> None:
    """Many texts at first, hardly any in the end."""
    method, pool = create("alloy"), Pool((100, 100, 100, 100))
    state = dict(method.fit(pool, Context(pool.space, teachers=(ModelShape(6, 3),) * 2)))
    assert state["texts_by_label"][1].tolist() == pytest.approx([100] * 4, abs=8)
    assert method.fit_report(Context(pool.space, state), ["one", "two"]).warnings == ()
    state["texts_by_label"] = torch.tensor([[90.0, 100, 100, 100], [2.0, 198, 100, 100]])
    [warning] = method.fit_report(Context(pool.space, state), ["one", "two"]).warnings
    assert warning == (
        "label 'a' had 90 texts at the start of the fit and has 2 at its end: the student may not learn it."
    )


def test_views_that_hardly_agree() -> None:
    """The encoder's states have the same groups as the teachers', or others. Without states of an encoder nothing can be said."""
    method, notes, outcomes = create("alloy"), {}, {}
    for encoder in ("alike", "other", None):
        pool = Pool((60, 60, 60, 60), encoder=encoder)
        state = dict(method.fit(pool, Context(pool.space, teachers=(ModelShape(6, 3),) * 2)))
        outcomes[encoder] = int(state["outcome"])
        notes[encoder] = method.fit_report(Context(pool.space, state), ["one", "two"])
        assert ("label_agreement" in state) == ("teacher_agreement" in state) == (encoder is not None)
        if encoder == "other":
            estimated = method.estimated_accuracy(Context(pool.space, state))
            follows_the_ensemble(pool)
            told = no_agreement(float(state["label_agreement"]), float(state["teacher_agreement"]), 2, AlloyOptions())
    assert outcomes == {"alike": ACCEPTED, "other": NO_AGREEMENT, None: ACCEPTED}
    assert notes["alike"].warnings == notes[None].warnings == ()
    assert notes["other"].warnings == (told,)
    assert "often name different labels (κ 0." in told
    assert "and different teachers (κ′ " in told
    assert "below 0.27" in told
    assert "below 0.16" in no_agreement(0.1, 0.1, 4, AlloyOptions())
    assert "instead, the student learns from the ensemble of the teachers" in told
    assert "The fitted mixture is not used; instead, the student learns from the ensemble" in str(
        notes["other"].sections
    )
    assert estimated is None
    for own_labels in (0.0, 0.5):
        options = AlloyOptions(own_labels=own_labels)
        for said in (no_skill(0.1, options), no_agreement(0.1, 0.1, 2, options)):
            assert ("what each of them says of its own labels" in said) == (own_labels > 0)
    assert "agree about the labels of the texts with κ = 0.9" in str(notes["alike"].sections)
    assert "and about their teachers with κ′ = 0.9" in str(notes["alike"].sections)
    assert "κ" not in str(notes[None].sections)


def test_the_ensemble_in_place_of_the_mixture_warns_of_its_own_weakness() -> None:
    """Logits of 7 labels spread wider than those of 2, as with `ensemble` and `vanilla_kd`."""
    pool = Pool((40,) * 9, (("a", "b"), ("c", "d", "e", "f", "g", "h", "i")))
    method, context = create("alloy"), Context(pool.space, teachers=(ModelShape(9, 3),) * 2)
    state = dict(method.fit(pool, context))
    warned = {}
    for outcome in (ACCEPTED, NO_SKILL):
        found = Context(pool.space, state | {"outcome": torch.tensor(outcome)}, teachers=context.teachers)
        warned[outcome] = method.fit_report(found, ["one", "two"]).warnings
    wanted = create("vanilla_kd").warnings(context)
    assert len(wanted) == 1
    assert wanted[0] in warned[NO_SKILL]
    assert wanted[0] not in warned[ACCEPTED]


def test_texts_that_are_perhaps_about_something_else_are_warned_of() -> None:
    """The views agree about the teachers, and not about the labels: the mixture is used."""
    method, pool = create("alloy"), Pool((60, 60, 60, 60), encoder="alike")
    state = dict(method.fit(pool, Context(pool.space, teachers=(ModelShape(6, 3),) * 2)))
    state |= {"label_agreement": torch.tensor(0.5), "teacher_agreement": torch.tensor(0.5)}
    [warning] = method.fit_report(Context(pool.space, state), ["one", "two"]).warnings
    assert warning.startswith(
        "two views of the texts, by the teachers' states and by the encoder's, often name different labels (κ 0.50"
    )
    assert "Perhaps the texts are not about the labels, or the topic of a text says little about its label" in warning
