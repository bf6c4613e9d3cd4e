"""What Alloy is for, on constructed pools: over-sure teachers, skewed shares, foreign texts, shared labels; and when it is not trusted."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy import CONTRADICTED, FEW, WHOLE, _why_not
from alloykit.methods.base import Context, Shape
from alloykit.methods.registry import create
from alloykit.rows import Rows, TeacherRows

LABELS = (("a", "b"), ("c", "d"))


class Pool:
    """Every label, and what is foreign, a cluster of states; the first teacher is surer of everything than the others are of their own.

    `constant`: foreign texts all get the first teacher's first label. `widths`: of each teacher's states.
    """

    def __init__(
        self, counts: tuple[int, ...], groups: tuple[tuple[str, ...], ...] = LABELS, *, foreign: int = 0, seed: int = 0,
        apart: float = 4.0, constant: bool = False, widths: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.space, g = LabelSpace.union(groups), torch.Generator().manual_seed(seed)
        kinds = self.space.size
        self.labels = torch.cat([torch.full((n,), c) for c, n in enumerate((*counts, foreign))])
        n, width = len(self.labels), kinds + 2
        states = (apart * torch.eye(kinds + 1, width))[self.labels] + torch.randn(n, width, generator=g)
        self.widths, teachers = widths or (width,) * len(groups), []
        for i, names in enumerate(groups):
            own = torch.tensor([*self.space.knows()[i].tolist(), False])[self.labels]
            place = torch.tensor([names.index(y) if y in names else 0 for y in (*self.space.names, "")])[self.labels]
            elsewhere = torch.randint(len(names), (n,), generator=g)
            if constant and i == 0:
                elsewhere = torch.where(self.labels == kinds, 0, elsewhere)
            sure = torch.where(own, 3.0, 2.0) + (1.5 if i == 0 else 0.0) + torch.randn(n, generator=g)
            logits = torch.nn.functional.one_hot(torch.where(own, place, elsewhere), len(names)) * sure[:, None]
            own_states = states @ torch.linalg.qr(torch.randn(max(width, self.widths[i]), width, generator=g))[0].T
            teachers.append(TeacherRows(logits, pooled_states=(own_states[:, : self.widths[i]].half(),) * 3))
        self.everything = Rows(tuple(teachers))

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, indices: Any) -> Rows:
        at = torch.as_tensor(list(indices))
        return Rows(tuple(TeacherRows(t.logits[at], pooled_states=tuple(s[at] for s in t.pooled_states or ()))
                          for t in self.everything.teachers))  # fmt: skip

    @property
    def known(self) -> Tensor:
        return self.labels < self.space.size


def routed(spec: dict[str, Any] | str, pool: Pool) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """The owner that the method names, [n], v, and the method's notes."""
    method, shapes = create(spec), tuple(Shape(w, 3) for w in pool.widths)
    bare = Context(pool.space, teachers=shapes)
    context = Context(pool.space, dict(method.fit(pool, bare)), teachers=shapes)
    found = method.supervise(pool.rows(range(len(pool))), context)
    assert found is not None
    assert found.teacher_weights is not None
    notes = method.account(context, [f"teacher {i + 1}" for i in range(len(shapes))])
    return found.teacher_weights.argmax(-1), found.weights, {**notes, "outcome": context.state.get("outcome")}


def right(owner: Tensor, pool: Pool) -> float:
    """Of the texts that somebody knows, how many go to a teacher that does; the mean over the teachers' own."""
    knows = pool.space.knows()
    said = knows[owner[pool.known], pool.labels[pool.known]].double()
    each = [said[knows[i][pool.labels[pool.known]]] for i in range(len(knows))]
    return float(torch.stack([e.mean() for e in each if len(e)]).mean())


def test_a_teacher_that_is_surer_of_everything_does_not_get_everything() -> None:
    pool = Pool((100, 100, 100, 100))
    muka, alloy = (right(routed(spec, pool)[0], pool) for spec in ({"name": "muka", "passes": 0}, "alloy"))
    assert muka < 0.7
    assert alloy > 0.95


@pytest.mark.parametrize("counts", [(250, 250, 50, 50), (50, 50, 250, 250), (400, 400, 20, 20), (20, 20, 400, 400)])
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
    assert "60 texts are too few to see whose they are (300 are needed)" in notes["warnings"][0]
    assert torch.equal(owner, plain)
    assert torch.equal(v, plain_v)
    spec = {"name": "alloy", "texts_per_label": 15, "min_texts": 60}
    assert int(routed(spec, pool)[2]["outcome"]) == WHOLE
    assert int(routed(spec | {"texts_per_label": 16}, pool)[2]["outcome"]) == FEW


def test_an_outcome_that_contradicts_the_teachers_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr("alloykit.methods.alloy.half_standardised", lambda c, p: fixed)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == CONTRADICTED
    assert any("teacher 2 is surer of the other teachers' texts" in line for line in notes["warnings"])
    assert torch.equal(owner, routed({"name": "muka", "passes": 0}, pool)[0])


def test_states_without_any_structure_do_no_harm() -> None:
    """All labels lie on one point: what is left are the answers and the shares, and the run is no worse than MUKA's by much."""
    pool = Pool((100, 100, 100, 100), apart=0.0)
    (owner, _, notes), (plain, _, _) = (routed(spec, pool) for spec in ("alloy", {"name": "muka", "passes": 0}))
    assert right(owner, pool) > right(plain, pool) - 0.05
    assert (int(notes["outcome"]) == CONTRADICTED) is bool(notes["warnings"])


def test_half_of_the_target_is_the_teachers_and_half_the_mixture_s() -> None:
    """T of the docstring of methods/alloy.py, text by text; teacher 2 is nearly flat, and sharpened."""
    pool = Pool((100, 100, 100, 100), (("a", "b", "c"), ("c", "d")), foreign=50)
    first, second = pool.everything.teachers
    pool.everything = Rows((first, TeacherRows(second.logits / 20, pooled_states=second.pooled_states)))
    method, shapes = create("alloy"), (Shape(6, 3),) * 2
    state = dict(method.fit(pool, Context(pool.space, teachers=shapes)))
    context, rows = Context(pool.space, state, teachers=shapes), pool.rows(range(len(pool)))
    one, two = state["powers"].tolist()
    assert (one, int(state["outcome"])) == (1, WHOLE)
    assert two > 5
    r, _ = method.posterior(rows, context)
    found = method.supervise(rows, context)
    assert found is not None
    for x in range(0, 400, 7):
        p = [t.probabilities()[x].double().tolist() for t in rows.teachers]
        q = [[v**b for v in row] for row, b in zip(p, (one, two), strict=True)]
        q = [[v / sum(row) for v in row] for row in q]
        a, b, c, d = (v / sum(r[x].tolist()) for v in r[x].tolist())
        gamma = (a + b + c / 2, c / 2 + d)
        wanted = [
            gamma[0] * q[0][0] + a,
            gamma[0] * q[0][1] + b,
            gamma[0] * q[0][2] + gamma[1] * q[1][0] + c,
            gamma[1] * q[1][1] + d,
        ]
        assert found.targets[x].tolist() == pytest.approx([w / 2 for w in wanted], abs=1e-5)
    torch.testing.assert_close(found.targets.sum(-1), torch.ones(len(pool)))


def test_halves_that_name_texts_differently_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half's mixture routes as well as the other, but a third and more of the labels within a teacher are mixed up."""
    from alloykit.methods import alloy

    pool = Pool((100, 100, 100, 100))
    straight = alloy.crossed

    def mixed_up(*of: Any) -> Tensor:
        r = straight(*of).clone()
        r[::5] = r[::5][:, [1, 0, 3, 2, 4]]
        r[1::5] = r[1::5][:, [1, 0, 3, 2, 4]]
        return r

    monkeypatch.setattr(alloy, "crossed", mixed_up)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == CONTRADICTED
    assert notes["agreed"] == pytest.approx(0.6, abs=0.03)
    assert "by the same label: MUKA's weights serve" in notes["warnings"][0]
    assert torch.equal(owner, routed({"name": "muka", "passes": 0}, pool)[0])


def test_teachers_are_compared_on_known_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eq. 9: what is nobody's counts neither for a teacher nor against it."""
    from alloykit.methods import alloy

    pool, seen = Pool((100, 100, 100, 100), foreign=200), {}
    straight = alloy.surer

    def watched(c: Tensor, own: Tensor, rest: Tensor, fewest: int) -> Tensor:
        seen.update(own=own, rest=rest)
        return straight(c, own, rest, fewest)

    monkeypatch.setattr(alloy, "surer", watched)
    assert int(routed("alloy", pool)[2]["outcome"]) == WHOLE
    for i, knows in enumerate(pool.space.knows()):
        true = torch.cat([knows, torch.tensor([False])])[pool.labels]
        assert float(seen["own"][:, i][true].double().mean()) > 0.9
        assert float(seen["rest"][:, i][pool.known & ~true].double().mean()) > 0.9
        assert float((seen["own"] | seen["rest"])[:, i][~pool.known].double().mean()) < 0.1


def test_one_teacher_has_every_text() -> None:
    pool = Pool((200, 200), (("a", "b"),))
    owner, v, notes = routed("alloy", pool)
    assert owner.tolist() == [0] * 400
    assert "warnings" not in notes
    assert torch.equal(v, routed({"name": "muka", "passes": 0}, pool)[1])


def test_shared_labels_count_in_full() -> None:
    """c is known to both: whoever answers, its texts are learned from as others are."""
    pool = Pool((100, 100, 100, 100), (("a", "b", "c"), ("c", "d")))
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == WHOLE
    assert right(owner, pool) > 0.95
    means = [float(v[pool.labels == c].mean()) for c in range(4)]
    assert min(means) > 0.8


@pytest.mark.parametrize(
    ("groups", "counts"),
    [
        ((("a", "b", "c"), ("a", "b"), ("d", "e")), (100, 100, 100, 100, 100)),
        ((("a", "b", "c", "d"), ("c", "d")), (100, 100, 100, 100)),
        ((("a",) + ("b",), ("c", "d", "e", "f", "g")), (80,) * 7),
        ((("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")), (60,) * 8),
    ],
    ids=["a subset", "a teacher of all", "two and five labels", "four teachers"],
)
def test_label_sets_of_all_kinds(groups: Any, counts: tuple[int, ...]) -> None:
    pool = Pool(counts, groups)
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == WHOLE, notes["warnings"]
    assert right(owner, pool) > 0.93
    assert float(v.mean()) > 0.7


def test_equal_label_sets_leave_nothing_to_tell_apart() -> None:
    pool = Pool((200, 200), (("a", "b"), ("b", "a")))
    _, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == CONTRADICTED
    assert notes["warnings"] == [
        "every teacher seems to know every text, so that nothing can be told apart: MUKA's weights serve"
    ]
    assert notes["surer"] == {"teacher 1": None, "teacher 2": None}


@pytest.mark.parametrize("absent", [0, 2], ids=["the surest", "another"])
def test_a_teacher_with_no_texts_of_three(absent: int) -> None:
    """It gets a few that lie between the others, with little weight, and the run says so."""
    counts = [150] * 6
    counts[2 * absent : 2 * absent + 2] = [0, 0]
    pool = Pool(tuple(counts), (("a", "b"), ("c", "d"), ("e", "f")), seed=1)
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == WHOLE
    name = f"teacher {absent + 1}"
    assert notes["shares"][name][-1] < 0.15
    assert notes["warnings"][0] == f"of the texts that seem to be {name}'s it is no surer than of the other teachers'"
    mine = (owner != absent).double()
    assert float((mine * v).sum() / v.sum()) > 0.95
    assert right(owner, pool) > right(routed({"name": "muka", "passes": 0}, pool)[0], pool) + 0.2


def test_a_teacher_with_no_texts_of_two() -> None:
    """Nothing is left to compare it with, and neither is surer of what the fit calls its own: MUKA's weights serve."""
    pool = Pool((200, 200, 0, 0))
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == CONTRADICTED
    [warning] = notes["warnings"]
    assert "the teachers are no surer of the texts that seem their own than of the others'" in warning
    plain, plain_v, _ = routed({"name": "muka", "passes": 0}, pool)
    assert torch.equal(owner, plain)
    assert torch.equal(v, plain_v)


def test_teachers_of_different_width() -> None:
    pool = Pool((100, 100, 100, 100), widths=(6, 20))
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == WHOLE
    assert right(owner, pool) > 0.95


def test_more_texts_than_the_fit_looks_at() -> None:
    """The rest is routed by what was fitted to some; a union of many labels gets as many as it needs."""
    pool = Pool((1100, 1100, 1100, 1100))
    owner, _, notes = routed("alloy", pool)
    assert notes["texts"] == 4096
    assert right(owner, pool) > 0.95
    spec = {"name": "alloy", "texts_per_label": 1050}
    assert routed(spec, pool)[2]["texts"] == 4200
    few = routed(spec | {"texts_per_label": 1200}, pool)[2]
    assert "4400 texts are too few to see whose they are (4800 are needed)" in few["warnings"][0]


def test_foreign_texts_that_are_all_alike() -> None:
    """One cluster that one teacher answers with one label: nobody's while it is small, that label's where it is large."""
    assert routed("alloy", Pool((150, 150, 150, 150)))[2]["warnings"] == []
    weight = {}
    for foreign in (100, 300, 1000):
        pool = Pool((150, 150, 150, 150), foreign=foreign, constant=True, seed=1)
        owner, v, notes = routed("alloy", pool)
        assert int(notes["outcome"]) == WHOLE
        assert right(owner, pool) > 0.95, "what is known is not harmed"
        weight[foreign] = float(v[~pool.known].mean())
    assert weight[100] < 0.1, "nobody's"
    assert min(weight[300], weight[1000]) > 0.7, "the known fault"


def test_a_pool_that_is_mostly_nobodys_is_warned_of() -> None:
    notes = routed("alloy", Pool((100, 100, 100, 100), foreign=400))[2]
    assert notes["shares"]["nobody"][-1] > 0.4
    assert any("seem to be nobody's" in line for line in notes["warnings"])


def test_many_labels_warn_as_muka_does() -> None:
    groups = (("a", "b"), ("c", "d", "e", "f", "g", "h", "i"))
    assert create("alloy").cautions(Context(LabelSpace.union(groups))) == create("muka").cautions(
        Context(LabelSpace.union(groups))
    )
    assert create("alloy").cautions(Context(LabelSpace.union(groups)))


def test_why_a_fit_is_not_used() -> None:
    judged = torch.tensor([5.0, -float("inf"), 1.0, -2.0])
    names, shares = ["one", "two", "three", "four"], [0.98, 0.01, 0.2, 0.1]
    assert _why_not(names, shares, judged, agreed=0.58, texts=500) == [
        "hardly any text (5) seems to be two's: MUKA's weights serve",
        "four is surer of the other teachers' texts than of those that seem its own: MUKA's weights serve",
        "fitted to one half of the texts and to the other, it calls only 58% of those that somebody knows by the same label: MUKA's weights serve",
    ]
    assert _why_not(["one"], [1.0], torch.tensor([5.0]), agreed=0.9, texts=500) == []


def test_a_label_that_lost_its_texts_is_warned_of() -> None:
    """Its alarm: many texts at first, none in the end."""
    method, pool = create("alloy"), Pool((100, 100, 100, 100))
    bare = Context(pool.space, teachers=(Shape(6, 3),) * 2)
    state = dict(method.fit(pool, bare))
    assert state["labels"][1].tolist() == pytest.approx([100] * 4, abs=5)
    assert method.account(Context(pool.space, state), ["one", "two"])["warnings"] == []
    state["labels"] = torch.tensor([[90.0, 100, 100, 100], [2.0, 198, 100, 100]])
    [warning] = method.account(Context(pool.space, state), ["one", "two"])["warnings"]
    assert warning == "of the 90 texts that seemed to be 'a' at first 2 are left"
