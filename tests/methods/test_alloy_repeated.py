"""Texts that repeat others are left out of Alloy's fit (Eq. 30)."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
from constructed_pools import Pool, right, routed
from torch import Tensor

from alloykit.methods.alloy import repeated as rule
from alloykit.methods.alloy.acceptance import ACCEPTED, TOO_FEW
from alloykit.methods.alloy.read_pool import ReadPool
from alloykit.methods.alloy.repeated import KEPT, NEAR, repeated
from alloykit.methods.alloy.report import routing_sections
from alloykit.methods.alloy.states import StateSpace
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

TEACHERS, ENCODER = 24, 16  # dimensions of the states


def in_a_loop(states: Tensor) -> list[bool]:
    """Eq. 30, text by text."""
    left = list(range(len(states)))
    while True:
        z = StateSpace.fit(states[left], TEACHERS, 128)(states[left]).tolist()
        n, d = len(z), len(z[0])
        kept: list[int] = []
        for i, row in enumerate(z):
            near = [j for j in kept if sum((a - b) ** 2 for a, b in zip(row, z[j], strict=True)) < NEAR * 2 * d]
            if len(near) < KEPT:
                kept.append(i)
        if len(kept) == n:
            return [i not in left for i in range(len(states))]
        left = [left[i] for i in kept]


def some_states(n: int, seed: int = 0) -> Tensor:
    return torch.randn(n, TEACHERS + ENCODER, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("block", "times"), [(7, 25), (1024, 25), (64, 200)])
def test_as_in_a_loop(block: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some states once, some again and again with a little noise, and a row of which each is near to its next ones only; in any order.
    Blocks smaller than the pool find the same. Of many such texts the first fit does not find all."""
    monkeypatch.setattr(rule, "BLOCK", block)
    g = torch.Generator().manual_seed(1)
    again = some_states(2, seed=2).repeat_interleave(times, 0)
    chain = some_states(1, seed=3) + 0.15 * torch.arange(20)[:, None] * some_states(1, seed=4)
    states = torch.cat([some_states(60), again + 0.25 * torch.randn(again.shape, generator=g), chain])
    states = states[torch.randperm(len(states), generator=g)]
    found, _ = repeated(states, TEACHERS)
    assert found.tolist() == in_a_loop(states)
    assert 2 * times - 10 <= int(found.sum()) < 2 * times + 11


@pytest.mark.parametrize("times", [1, 3, 4, 50, 2000])
def test_three_of_the_same_text_are_kept(times: int) -> None:
    states = torch.cat([some_states(100), some_states(1, seed=1).expand(times, -1)])
    found, _ = repeated(states, TEACHERS)
    assert int(found.sum()) == max(0, times - KEPT)
    assert not found[:100].any()


@pytest.mark.filterwarnings("ignore:invalid value")
def test_texts_that_are_all_the_same() -> None:
    assert int(repeated(some_states(1).expand(200, -1), TEACHERS)[0].sum()) == 200 - KEPT


def test_distances_are_compared_with_those_of_other_texts() -> None:
    """The scale of the states does not matter, nor that they are far from zero."""
    near = some_states(1, seed=1) + 0.1 * some_states(10, seed=2)
    states = torch.cat([some_states(100), near])
    assert int(repeated(states, TEACHERS)[0].sum()) == 7
    assert int(repeated(1000 + 20 * states, TEACHERS)[0].sum()) == 7


class Again:
    """A pool in which some texts come again and again."""

    def __init__(self, pool: Pool, which: list[int], times: int) -> None:
        self.pool, self.at = pool, torch.tensor([*range(len(pool)), *which * times])

    def __len__(self) -> int:
        return len(self.at)

    def rows(self, indices: object) -> Rows:
        return self.pool.rows(self.at[torch.as_tensor(list(indices))].tolist())  # type: ignore[call-overload]


@pytest.mark.slow
def test_a_few_texts_many_times_change_nothing() -> None:
    """Two texts of one label a thousand times each: as many as all others."""
    plain = Pool((200, 200, 200, 200))
    pool = Pool((200, 200, 200, 200))
    again = Again(plain, [0, 1], 1000)
    pool.everything, pool.labels = again.rows(range(len(again))), plain.labels[again.at]
    owner, _, notes = routed("alloy", pool)
    assert notes["repeats"] == 2000 - 2 * (KEPT - 1)
    assert notes["texts"] == 804
    pool.labels[800:] = len(pool.space.names)  # count each text once
    assert right(owner, pool) > 0.95
    assert right(owner, pool) == pytest.approx(right(routed("alloy", plain)[0], plain), abs=0.005)
    assert notes["shares"]["teacher 1"][-1] == pytest.approx(0.5, abs=0.02)
    assert notes["background"] is None


def test_more_of_a_large_pool_is_read_if_most_texts_repeat() -> None:
    """Of 1,000 texts, 900 are the same one. A fit to at most 60 texts reads 240, and finds about 24 + 3; without repeated texts it reads 60."""
    pool = Pool((25, 25, 25, 25))
    read = ReadPool.of(Again(pool, [0], 900), 60)
    assert len(read.positions) == 240
    others = int((read.positions < 100).sum())
    assert int(read.used.sum()) == pytest.approx(others + KEPT, abs=1)
    assert int((read.used & read.repeats).sum()) == 0
    plain = ReadPool.of(pool, 60)
    assert len(plain.positions) == int(plain.used.sum()) == 60
    many = ReadPool.of(Again(Pool((100, 100, 100, 100)), [0], 800), 60)
    assert int((~many.repeats).sum()) > int(many.used.sum()) == 60
    for dimensions in (8, 128):
        shift = many.state_space(dimensions).shift
        assert shift.tolist() == pytest.approx(many.states[many.used].double().mean(0).tolist())
        assert plain.state_space(dimensions).directions.shape[1] == min(dimensions, 60 // 4)


def test_the_last_fit_of_the_search_is_that_of_the_mixture() -> None:
    """With and without repeated texts, and if the search ends with its last round."""
    pool, rounds = Pool((25, 25, 25, 25)), rule.ROUNDS
    for again, at_most in ((0, rounds), (50, rounds), (50, 1)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rule, "ROUNDS", at_most)
            read = ReadPool.of(Again(pool, [0], again), 1000)
        assert int(read.repeats.sum()) == max(0, again + 1 - KEPT)
        fresh = StateSpace.fit(read.states[read.used], read.of_teachers, 128)
        assert all(torch.equal(getattr(fresh, name), value) for name, value in vars(read.state_space(128)).items())


def test_the_report_says_how_many_were_left_out() -> None:
    pool = Pool((60, 60, 60, 60))
    again = Again(pool, [0], 50)
    pool.everything, pool.labels = again.rows(range(len(again))), pool.labels[again.at]
    notes = routed("alloy", pool)[2]
    text = str(routing_sections(notes, ["teacher 1", "teacher 2"])[0].parts[0])
    assert (
        "to 242 texts of the pool (48 more were left out, because each is nearly the same as at least 3 others). "
        in text
    )
    assert "left out" not in str(routing_sections(routed("alloy", Pool((60,) * 4))[2], ["teacher 1", "teacher 2"]))


def test_too_few_texts_that_do_not_repeat() -> None:
    pool = Pool((20, 20, 20, 20))
    again = Again(pool, [0], 500)
    pool.everything, pool.labels = again.rows(range(len(again))), pool.labels[again.at]
    (warning,) = routed("alloy", pool)[2]["warnings"]
    assert warning.startswith("82 texts that do not repeat others are too few to fit the mixture (100 are needed)")


def test_texts_without_an_answer_are_left_out_too() -> None:
    """Nobody answers the first ten texts: they are not among those that the mixture is fitted to."""
    pool = Pool((60, 60, 60, 60))
    answered = torch.arange(len(pool)) >= 10

    class Unanswered:
        def __len__(self) -> int:
            return len(pool)

        def rows(self, indices: object) -> Rows:
            at = torch.as_tensor(list(indices))  # type: ignore[call-overload]
            rows = pool.rows(at.tolist())
            teachers: tuple[TeacherRows, ...] = tuple(replace(t, answered=answered[at]) for t in rows.teachers)
            return replace(rows, teachers=teachers)

    context = Context(pool.space, teachers=tuple(ModelShape(w, 3) for w in pool.widths))
    assert int(create("alloy").fit(Unanswered(), context)["texts"]) == 230


def test_energies_are_standardised_without_what_repeats() -> None:
    """One text a thousand times, with energies that are larger by 6: the means hardly change. If there are too few texts for the mixture, the rule in its
    place has these means, even if repeated texts would be too few too."""
    many = {"name": "alloy", "texts_per_label": 10**6}
    for size, spec, outcome in ((60, "alloy", ACCEPTED), (20, "alloy", TOO_FEW), (60, many, TOO_FEW)):
        plain, pool = Pool((size,) * 4), Pool((size,) * 4)
        raised = 6 * (torch.arange(len(pool)) == 0)[:, None]
        teachers = tuple(replace(t, logits=t.logits + raised) for t in pool.everything.teachers)
        pool.everything = replace(pool.everything, teachers=teachers)
        context = Context(pool.space, teachers=tuple(ModelShape(w, 3) for w in pool.widths))
        found, usual = (create(spec).fit(Again(p, again, 1000), context) for p, again in ((pool, [0]), (plain, [])))
        assert int(found["outcome"]) == outcome
        assert found["logit_mean"].tolist() == pytest.approx(usual["logit_mean"].tolist(), abs=0.3)


def test_states_of_equal_texts_give_no_warning_of_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = StateSpace.fit(torch.ones(40, 6), 2, 8)
    assert bool(space(torch.ones(3, 6)).isfinite().all())
