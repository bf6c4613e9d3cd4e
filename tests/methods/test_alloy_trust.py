"""When Alloy's fit is not used, what it says then, and what it warns of."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from constructed_pools import Pool, right, routed
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import ACCEPTED, REJECTED, TOO_FEW
from alloykit.methods.alloy.report import why_not
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows


def test_too_few_texts_fall_back_to_muka_and_say_so() -> None:
    pool = Pool((15, 15, 15, 15))
    owner, v, notes = routed("alloy", pool)
    plain, plain_v, _ = routed({"name": "muka", "passes": 0}, pool)
    assert int(notes["outcome"]) == TOO_FEW
    assert "60 texts are too few to fit the mixture (300 are needed)" in notes["warnings"][0]
    assert torch.equal(owner, plain)
    assert torch.equal(v, plain_v)
    spec = {"name": "alloy", "texts_per_label": 15, "min_texts": 60}
    assert int(routed(spec, pool)[2]["outcome"]) == ACCEPTED
    assert int(routed(spec | {"texts_per_label": 16}, pool)[2]["outcome"]) == TOO_FEW


def test_a_fit_that_contradicts_the_teachers_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teacher 2 made to answer at its loudest where a text is not its own."""
    pool = Pool((100, 100, 100, 100), apart=6.0)
    loud = pool.everything.teachers[1]
    owner_of = pool.labels // 2
    foreign = (owner_of == 0).unsqueeze(-1)
    pool.everything = Rows(
        (
            pool.everything.teachers[0],
            TeacherRows(torch.where(foreign, loud.logits * 3, loud.logits / 9), pooled_states=loud.pooled_states),
        )
    )
    fixed = torch.nn.functional.one_hot(owner_of, 2).double() * 6
    monkeypatch.setattr("alloykit.methods.alloy.method.half_standardised", lambda c, p: fixed)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == REJECTED
    assert any(
        "teacher 'teacher 2' is less confident on the texts assigned to it" in line for line in notes["warnings"]
    )
    assert torch.equal(owner, routed({"name": "muka", "passes": 0}, pool)[0])


def test_states_without_any_structure_do_no_harm() -> None:
    """All labels lie on one point: what is left are the answers and the shares, and the run is no worse than MUKA's by much."""
    pool = Pool((100, 100, 100, 100), apart=0.0)
    (owner, _, notes), (plain, _, _) = (routed(spec, pool) for spec in ("alloy", {"name": "muka", "passes": 0}))
    assert right(owner, pool) > right(plain, pool) - 0.05
    assert (int(notes["outcome"]) == REJECTED) is bool(notes["warnings"])


def test_halves_that_disagree_are_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half's mixture routes as well as the other, but a third and more of the labels within a teacher are mixed up."""
    from alloykit.methods.alloy import method as alloy

    pool = Pool((100, 100, 100, 100))
    straight = alloy.cross_fit

    def mixed_up(*of: Any) -> Tensor:
        r = straight(*of).clone()
        r[::5] = r[::5][:, [1, 0, 3, 2, 4]]
        r[1::5] = r[1::5][:, [1, 0, 3, 2, 4]]
        return r

    monkeypatch.setattr(alloy, "cross_fit", mixed_up)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == REJECTED
    assert notes["agreement"] == pytest.approx(0.6, abs=0.03)
    assert "of the in-domain texts: MUKA's weights are used instead" in notes["warnings"][0]
    assert torch.equal(owner, routed({"name": "muka", "passes": 0}, pool)[0])


def test_teachers_are_compared_on_known_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. 9: background texts count neither for a teacher nor against it."""
    from alloykit.methods.alloy import method as alloy

    pool, seen = Pool((100, 100, 100, 100), foreign=200), {}
    straight = alloy.welch_t

    def watched(c: Tensor, own: Tensor, rest: Tensor, fewest: int) -> Tensor:
        seen.update(own=own, rest=rest)
        return straight(c, own, rest, fewest)

    monkeypatch.setattr(alloy, "welch_t", watched)
    assert int(routed("alloy", pool)[2]["outcome"]) == ACCEPTED
    for i, knows in enumerate(pool.space.knows()):
        true = torch.cat([knows, torch.tensor([False])])[pool.labels]
        assert float(seen["own"][:, i][true].double().mean()) > 0.9
        assert float(seen["rest"][:, i][pool.known & ~true].double().mean()) > 0.9
        assert float((seen["own"] | seen["rest"])[:, i][~pool.known].double().mean()) < 0.1


def test_equal_label_sets_leave_nothing_to_tell_apart() -> None:
    pool = Pool((200, 200), (("a", "b"), ("b", "a")))
    _, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == REJECTED
    assert notes["warnings"] == [
        "every teacher seems to know every text, so there is nothing to route: MUKA's weights are used instead"
    ]
    assert notes["t_by_teacher"] == {"teacher 1": None, "teacher 2": None}


def test_a_teacher_with_no_texts_of_two() -> None:
    """Nothing is left to compare it with, and neither is more confident on what is assigned to it: MUKA's weights are used."""
    pool = Pool((200, 200, 0, 0))
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == REJECTED
    [warning] = notes["warnings"]
    assert "the teachers are no more confident on the texts assigned to them than on the others" in warning
    plain, plain_v, _ = routed({"name": "muka", "passes": 0}, pool)
    assert torch.equal(owner, plain)
    assert torch.equal(v, plain_v)


def test_a_pool_with_much_background_is_warned_of() -> None:
    notes = routed("alloy", Pool((100, 100, 100, 100), foreign=400))[2]
    assert notes["shares"]["background"][-1] > 0.4
    assert any("seem to have a label of no teacher" in line for line in notes["warnings"])


def test_many_labels_warn_as_muka_does() -> None:
    groups = (("a", "b"), ("c", "d", "e", "f", "g", "h", "i"))
    assert create("alloy").warnings(Context(LabelSpace.union(groups))) == create("muka").warnings(
        Context(LabelSpace.union(groups))
    )
    assert create("alloy").warnings(Context(LabelSpace.union(groups)))


def test_why_a_fit_is_not_used() -> None:
    judged = torch.tensor([5.0, -float("inf"), 1.0, -2.0])
    names, shares = ["one", "two", "three", "four"], [0.98, 0.01, 0.2, 0.1]
    assert why_not(names, shares, judged, agreement=0.58, texts=500) == [
        "hardly any text (5) is assigned to teacher 'two': MUKA's weights are used instead",
        "teacher 'four' is less confident on the texts assigned to it than on the others: MUKA's weights are used instead",
        "two fits, each on half of the pool, agree on only 58.0% of the in-domain texts: MUKA's weights are used instead",
    ]
    assert why_not(["one"], [1.0], torch.tensor([5.0]), agreement=0.9, texts=500) == []


def test_a_label_that_lost_its_texts_is_warned_of() -> None:
    """Its alarm: many texts at first, none in the end."""
    method, pool = create("alloy"), Pool((100, 100, 100, 100))
    bare = Context(pool.space, teachers=(ModelShape(6, 3),) * 2)
    state = dict(method.fit(pool, bare))
    assert state["texts_by_label"][1].tolist() == pytest.approx([100] * 4, abs=5)
    assert method.fit_report(Context(pool.space, state), ["one", "two"]).warnings == ()
    state["texts_by_label"] = torch.tensor([[90.0, 100, 100, 100], [2.0, 198, 100, 100]])
    [warning] = method.fit_report(Context(pool.space, state), ["one", "two"]).warnings
    assert warning == (
        "label 'a' had 90 texts at the start of the fit and has 2 at its end: the student may not learn it"
    )
