"""What Alloy is for, on constructed pools: over-confident teachers, skewed shares, foreign texts, shared labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from constructed_pools import Pool, right, routed

from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows


def test_the_most_confident_teacher_does_not_get_every_text() -> None:
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


def test_texts_that_no_teacher_knows_get_low_weight() -> None:
    pool = Pool((100, 100, 100, 100), foreign=200)
    owner, v, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.95
    assert float(v[pool.labels == 4].mean()) < 0.2 * float(v[pool.labels < 4].mean())
    assert notes["shares"]["background"][-1] == pytest.approx(1 / 3, abs=0.05)


def test_half_of_the_target_is_the_teachers_and_half_the_mixture_s() -> None:
    """T of the docstring of methods/alloy/method.py, text by text; teacher 2 is nearly flat, and sharpened."""
    pool = Pool((100, 100, 100, 100), (("a", "b", "c"), ("c", "d")), foreign=50)
    first, second = pool.everything.teachers
    pool.everything = Rows((first, TeacherRows(second.logits / 20, pooled_states=second.pooled_states)))
    method, shapes = create("alloy"), (ModelShape(6, 3),) * 2
    state = dict(method.fit(pool, Context(pool.space, teachers=shapes)))
    context, rows = Context(pool.space, state, teachers=shapes), pool.rows(range(len(pool)))
    one, two = state["sharpening"].tolist()
    assert (one, int(state["outcome"])) == (1, ACCEPTED)
    assert two > 5
    r, _ = method.responsibilities(rows, context)
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


def test_one_teacher_has_every_text() -> None:
    pool = Pool((200, 200), (("a", "b"),))
    owner, v, notes = routed("alloy", pool)
    assert owner.tolist() == [0] * 400
    assert notes["warnings"] == []
    assert torch.equal(v, routed({"name": "muka", "passes": 0}, pool)[1])


def test_shared_labels_count_in_full() -> None:
    """c is known to both: whoever answers, its texts are learned from as others are."""
    pool = Pool((100, 100, 100, 100), (("a", "b", "c"), ("c", "d")))
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
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
    assert int(notes["outcome"]) == ACCEPTED, notes["warnings"]
    assert right(owner, pool) > 0.93
    assert float(v.mean()) > 0.7


@pytest.mark.parametrize("absent", [0, 2], ids=["the surest", "another"])
def test_a_teacher_with_no_texts_of_three(absent: int) -> None:
    """It gets a few that lie between the others, with little weight, and the run says so."""
    counts = [150] * 6
    counts[2 * absent : 2 * absent + 2] = [0, 0]
    pool = Pool(tuple(counts), (("a", "b"), ("c", "d"), ("e", "f")), seed=1)
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
    name = f"teacher {absent + 1}"
    assert notes["shares"][name][-1] < 0.15
    assert notes["warnings"][0] == (
        f"teacher '{name}' is no more confident on the texts assigned to it than on the others: routing to it may be wrong"
    )
    mine = (owner != absent).double()
    assert float((mine * v).sum() / v.sum()) > 0.95
    assert right(owner, pool) > right(routed({"name": "muka", "passes": 0}, pool)[0], pool) + 0.2


def test_teachers_of_different_width() -> None:
    pool = Pool((100, 100, 100, 100), widths=(6, 20))
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
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
    assert "4400 texts are too few to fit the mixture (4800 are needed)" in few["warnings"][0]


def test_foreign_texts_that_are_all_alike() -> None:
    """One cluster that one teacher answers with one label: in the background while it is small, that label's where it is large."""
    assert routed("alloy", Pool((150, 150, 150, 150)))[2]["warnings"] == []
    weight = {}
    for foreign in (100, 300, 1000):
        pool = Pool((150, 150, 150, 150), foreign=foreign, constant=True, seed=1)
        owner, v, notes = routed("alloy", pool)
        assert int(notes["outcome"]) == ACCEPTED
        assert right(owner, pool) > 0.95, "what is known is not harmed"
        weight[foreign] = float(v[~pool.known].mean())
    assert weight[100] < 0.1, "in the background"
    assert min(weight[300], weight[1000]) > 0.7, "the known fault"
