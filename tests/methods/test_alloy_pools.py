"""What Alloy is for, on constructed pools: over-confident teachers, skewed shares, foreign texts, shared labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from constructed_pools import Pool, right, routed
from some_quick import some_quick

from alloykit.labels import LabelSpace
from alloykit.methods.alloy import mixture, states
from alloykit.methods.alloy.acceptance import ACCEPTED, TOO_FEW
from alloykit.methods.alloy.background_choice import MIN_GAIN
from alloykit.methods.alloy.estimate import estimate_of
from alloykit.methods.protocol import Context, EstimatedAccuracy, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows


def test_the_most_confident_teacher_does_not_get_every_text() -> None:
    pool = Pool((100, 100, 100, 100))
    muka, alloy = (right(routed(spec, pool)[0], pool) for spec in ({"name": "muka", "passes": 0}, "alloy"))
    assert muka < 0.7
    assert alloy > 0.95


@pytest.mark.parametrize(
    "counts",
    some_quick([(250, 250, 50, 50), (50, 50, 250, 250), (400, 400, 20, 20), (20, 20, 400, 400)], (20, 20, 400, 400)),
)
def test_skewed_pools(counts: tuple[int, ...]) -> None:
    pool = Pool(counts)
    owner, _, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.9
    assert notes["shares"]["teacher 1"][-1] == pytest.approx(sum(counts[:2]) / sum(counts), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("foreign", some_quick([200, 400, 800], 400))
def test_foreign_texts_are_found_and_count_a_quarter(foreign: int) -> None:
    pool = Pool((100, 100, 100, 100), foreign=foreign)
    owner, v, notes = routed("alloy", pool)
    assert right(owner, pool) > 0.95
    assert float(v[pool.known].mean()) > 0.9
    without = routed({"name": "alloy", "background": False}, pool)
    assert without[2]["background"] is None
    assert 0.05 < float(v[~pool.known].mean()) < 0.3
    assert notes["background"] == pytest.approx(foreign / len(pool), abs=0.05)
    assert "seem to have a label that no teacher knows" in notes["warnings"][0]


def test_a_label_that_is_taken_for_foreign_is_learned_all_the_same() -> None:
    """The teachers are less sure of label a than of any text they do not know, so a background has its texts. They go to the same teacher as
    without a background, and count a quarter. The warning names the label."""
    pool = Pool((200, 100, 100, 100))
    for teacher in pool.everything.teachers:
        teacher.logits[pool.labels == 0] *= 0.2
    owner, v, notes = routed({"name": "alloy", "background": True}, pool)
    assert notes["background"] == pytest.approx(200 / 500, abs=0.05)
    assert right(owner, pool) > 0.95
    assert 0.1 < float(v[pool.labels == 0].mean()) < 0.3
    assert notes["warnings"][0].endswith(
        "% of them would have the label 'a'. If that label is right for them, set `background: false` in the method's options."
    )
    assert "Without the background, " in notes["warnings"][0]


@pytest.mark.parametrize(
    "counts", some_quick([(100, 100, 100, 100), (250, 250, 50, 50), (400, 100, 40, 20)], (400, 100, 40, 20))
)
def test_a_pool_without_foreign_texts_has_no_background(counts: tuple[int, ...]) -> None:
    notes = routed("alloy", Pool(counts))[2]
    assert notes["background"] is None
    assert notes["background_gain"] < MIN_GAIN


def test_a_background_that_leaves_too_few_texts_is_not_used_and_the_run_says_so() -> None:
    pool = Pool((24, 24, 24, 24), foreign=240, encoder="alike", apart=6)
    for background in (None, True):
        notes = routed({"name": "alloy", "background": background}, pool)[2]
        assert notes["background"] is None
        assert notes["background_gain"] > MIN_GAIN
        assert notes["background_too_few"]
        assert "fewer than 100 texts are left, too few to fit their labels" in notes["warnings"][0]
    assert routed({"name": "alloy", "min_texts": 30}, pool)[2]["background"] == pytest.approx(240 / 336, abs=0.05)


@pytest.mark.parametrize("order", some_quick(["shuffled", "a c a c … b d b d …", "a b c d …"], "a c a c … b d b d …"))
@pytest.mark.parametrize("encoder", ["alike", None])
def test_the_order_of_the_texts_does_not_matter(order: str, encoder: Literal["alike"] | None) -> None:
    """Labels that alternate: every second text has the same label, or a label of the same teacher."""
    sorted_pool = Pool((100, 100, 100, 100), encoder=encoder, seed=2, apart=2.5)
    at = torch.arange(400)
    if order == "shuffled":
        at = torch.randperm(400, generator=torch.Generator().manual_seed(0))
    elif order.startswith("a c"):
        at = torch.stack([at[:200], at[200:]], 1).flatten()
    else:
        at = at.view(4, 100).T.flatten()
    pool = sorted_pool.in_order(at)
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
    assert notes["skill"] > 0.7
    assert right(owner, pool) > 0.9


def test_a_fit_of_an_earlier_version_is_read() -> None:
    """It says neither whether a background left too few texts, nor from how many labelled texts the estimate is."""
    pool = Pool((60, 60, 60, 60), encoder="alike")
    shapes = tuple(ModelShape(w, 3) for w in pool.widths)
    method = create("alloy")
    state = dict(method.fit(pool, Context(pool.space, teachers=shapes)))
    rows, whole = pool.rows(range(len(pool))), Context(pool.space, dict(state), teachers=shapes)
    for name in ("background_too_few", "estimated_with"):
        del state[name]
    old = Context(pool.space, state, teachers=shapes)
    found, expected = (method.supervise(rows, context) for context in (old, whole))
    assert found is not None
    assert expected is not None
    assert torch.equal(found.targets, expected.targets)
    assert method.estimated_accuracy(old) == method.estimated_accuracy(whole)
    assert method.fit_report(old, ["one", "two"]) == method.fit_report(whole, ["one", "two"])
    assert EstimatedAccuracy(0.5, (), 7) == estimate_of(
        {"estimated_accuracy": torch.tensor(0.5), "estimated_by_label": torch.tensor([]), "labelled": torch.tensor(7)}
    )


def test_one_teacher_has_every_text() -> None:
    pool = Pool((200, 200), (("a", "b"),))
    owner, v, notes = routed("alloy", pool)
    assert owner.tolist() == [0] * 400
    assert notes["warnings"] == []
    torch.testing.assert_close(v, torch.ones(400))


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
    """It gets a few that lie between the others, with little weight."""
    counts = [150] * 6
    counts[2 * absent : 2 * absent + 2] = [0, 0]
    pool = Pool(tuple(counts), (("a", "b"), ("c", "d"), ("e", "f")), seed=1)
    owner, v, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
    assert notes["shares"][f"teacher {absent + 1}"][-1] < 0.15
    mine = (owner != absent).double()
    assert float((mine * v).sum() / v.sum()) > 0.92
    assert right(owner, pool) > right(routed({"name": "muka", "passes": 0}, pool)[0], pool) + 0.2


@pytest.mark.parametrize("least", [100, 1000], ids=["by the mixture", "by the energies"])
def test_a_teacher_that_abstains_from_every_text_changes_nothing(least: int) -> None:
    """It shares a label with each of the others, so it would know nearly every text if it answered."""
    pool = Pool((60, 60, 60, 60), (("a", "c"), ("b", "d")), apart=2.0)
    space, rows = pool.space, pool.everything
    silent = TeacherRows(
        torch.randn(240, 2, generator=torch.Generator().manual_seed(1)), abstains=torch.ones(240).bool()
    )
    method, shapes = create({"name": "alloy", "min_texts": least}), (ModelShape(6, 3),) * 3

    class Third:
        def __len__(self) -> int:
            return len(pool)

        def rows(self, indices: Any) -> Rows:
            at = torch.as_tensor(list(indices))
            own = replace(silent, logits=silent.logits[at], abstains=torch.ones(len(at)).bool())
            return Rows((own, *pool.rows(at.tolist()).teachers))

    plain = Context(space, teachers=shapes[1:])
    plain = replace(plain, state=dict(method.fit(pool, plain)))
    more = Context(LabelSpace(space.names, (("a", "b"), *space.teachers)), teachers=shapes)
    more = replace(more, state=dict(method.fit(Third(), more)))
    assert int(plain.state["outcome"]) == (ACCEPTED if least == 100 else TOO_FEW)
    figures = (
        "outcome",
        "skill",
        "agreement",
        "estimated_accuracy",
        "estimated_by_label",
        "inverse_temperature",
        "moved",
    )
    for name in figures if least == 100 else ("outcome",):
        torch.testing.assert_close(more.state[name], plain.state[name], msg=name)
    wanted, found = method.supervise(rows, plain), method.supervise(Rows((silent, *rows.teachers)), more)
    assert wanted is not None
    assert found is not None
    torch.testing.assert_close(found.targets, wanted.targets)
    torch.testing.assert_close(found.weights, wanted.weights)


def test_teachers_of_different_width() -> None:
    pool = Pool((100, 100, 100, 100), widths=(6, 20))
    owner, _, notes = routed("alloy", pool)
    assert int(notes["outcome"]) == ACCEPTED
    assert right(owner, pool) > 0.95


@pytest.mark.slow
def test_more_texts_than_the_fit_looks_at() -> None:
    """The rest is routed by what was fitted to some; a union of many labels gets as many as it needs."""
    pool = Pool((1100, 1100, 1100, 1100))
    owner, _, notes = routed("alloy", pool)
    assert notes["texts"] == 4096
    assert right(owner, pool) > 0.95
    spec = {"name": "alloy", "texts_per_label": 1050}
    assert routed(spec, pool)[2]["texts"] == 4200
    few = routed(spec | {"texts_per_label": 1200}, pool)[2]
    assert "4,400 texts are too few to fit the mixture (4,800 are needed)" in few["warnings"][0]


def test_a_long_fit_shows_its_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pool = Pool((60, 60, 60, 60))
    routed("alloy", pool)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(mixture, "SLOW", 240 * 4 - 1)
    routed("alloy", pool)
    assert "Alloy's mixture: 12 iterations in " in capsys.readouterr().err
    monkeypatch.setattr(states, "SLOW", 240 * 144 - 1)
    routed("alloy", pool)
    assert "Alloy: the principal components of 240 texts' states in 144 dimensions" in capsys.readouterr().err
