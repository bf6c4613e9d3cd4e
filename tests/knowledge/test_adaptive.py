"""Adaptive passes: every round reads only the texts that are still open, and what is read back is what the passes say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from knowing import arrays, read, swept

from alloykit.errors import AlloyError
from alloykit.knowledge import fill as filling
from alloykit.knowledge.rounds import open_rows, starts_of
from alloykit.knowledge.store import Store, adaptive_unit, logits_unit, round_unit
from alloykit.methods.base import Context
from alloykit.methods.registry import create
from alloykit.teachers.teacher import TeacherInfo
from alloykit.uncertainty.adaptive import ROUNDS, Rule, jackknifed_entropy, standard_error

RULE = Rule("hard")
NAMES = ["billing", "delivery"]


@pytest.fixture(scope="module")
def store(billing: TeacherInfo, delivery: TeacherInfo, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """40 texts in three shards, two teachers. Read only."""
    return swept(tmp_path_factory.mktemp("adaptive") / "k", [billing, delivery], passes=0, adaptive=RULE)


def all_passes(store: Store, teacher: str, shard: int, row: int) -> torch.Tensor:
    """Every single pass that was made of one row, in order. [K, C_i]"""
    found = []
    for round_ in range(len(ROUNDS)):
        for start in starts_of(round_):
            unit = round_unit(teacher, shard, start)
            if store.has(unit) and row in (rows := store.load(unit)["rows"].tolist()):
                found.append(store.load(unit)["per_pass"][:, rows.index(row)])
    return torch.cat(found)


def test_rounds_add_up_to_their_passes() -> None:
    assert [list(starts_of(r)) for r in range(len(ROUNDS))] == [[0], [4], [8, 12]]


def test_some_texts_stop_early_and_some_go_on(store: Store) -> None:
    passes = read(store, NAMES, passes="adaptive").rows(range(40)).teachers[0].passes  # type: ignore[arg-type]
    assert set(passes.tolist()) <= set(ROUNDS)
    assert len(set(passes.tolist())) >= 2, "otherwise this file tests nothing"


def test_what_is_read_is_what_the_single_passes_say(store: Store) -> None:
    rows = read(store, NAMES, passes="adaptive").rows(range(40))  # type: ignore[arg-type]
    for i, name in enumerate(NAMES):
        said, n = rows.teachers[i], 0
        for shard, ids in enumerate(store.shards()):
            for row in range(len(ids)):
                p = all_passes(store, name, shard, row)
                assert said.passes is not None
                assert said.probability_sum is not None
                assert said.uncertainty is not None
                assert len(p) == said.passes[n]
                torch.testing.assert_close(said.probability_sum[n], p.sum(0))
                torch.testing.assert_close(said.uncertainty[n], jackknifed_entropy(p[:, None])[0].float())
                torch.testing.assert_close(said.logits[n], store.load(logits_unit(name, shard))["logits"][row])
                n += 1


def test_a_text_stops_when_the_rule_says_so_and_no_other(store: Store) -> None:
    """The rule, worked out for one text at a time from the single passes."""
    found = read(store, NAMES, passes="adaptive").rows(range(40)).teachers[0].passes  # type: ignore[arg-type]
    n = 0
    for shard, ids in enumerate(store.shards()):
        for row in range(len(ids)):
            p = [all_passes(store, name, shard, row) for name in NAMES]
            for k in ROUNDS:
                c = torch.stack([1 - jackknifed_entropy(one[:k, None]) for one in p], -1)
                se = torch.stack([standard_error(one[:k, None], RULE.floor) for one in p], -1)
                if bool(RULE.settled(c, se, k)) or k == ROUNDS[-1]:
                    assert found is not None
                    assert int(found[n]) == k
                    break
            n += 1


def test_the_variance_over_passes(store: Store) -> None:
    source = read(store, NAMES, passes="adaptive")  # type: ignore[arg-type]
    expected = [
        float(all_passes(store, "delivery", shard, row).double().var(0).mean())
        for shard, ids in enumerate(store.shards())
        for row in range(len(ids))
    ]
    assert source.pass_variance("delivery") == pytest.approx(np.mean(expected), rel=1e-6)


def test_killed_anywhere_it_goes_on_to_the_same_bits(
    store: Store, billing: TeacherInfo, delivery: TeacherInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash after every fifth file, until it is done."""
    real, saved = Store.save, []

    def save(self: Store, unit: str, *rest: Any, **about: Any) -> None:
        saved.append(unit)
        if len(saved) % 5 == 0:
            raise KeyboardInterrupt
        real(self, unit, *rest, **about)

    monkeypatch.setattr(Store, "save", save)
    for _ in range(20):
        try:
            swept(tmp_path / "k", [billing, delivery], passes=0, adaptive=RULE)
            break
        except KeyboardInterrupt:
            pass
    else:
        pytest.fail("it never ended")
    assert arrays(tmp_path / "k") == arrays(Path(store.storage.url))


def test_a_finished_store_is_not_swept_again(
    store: Store, billing: TeacherInfo, delivery: TeacherInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "sampled_passes", lambda *_: pytest.fail("a pass was made"))
    monkeypatch.setattr(filling, "plain_and_pooled", lambda *_: pytest.fail("a pass was made"))
    swept(store.storage.url, [billing, delivery], passes=0, adaptive=RULE)


def test_another_rule_or_other_teachers_are_refused(store: Store, billing: TeacherInfo, delivery: TeacherInfo) -> None:
    with pytest.raises(AlloyError, match=r"adaptive"):
        swept(store.storage.url, [billing, delivery], passes=0, adaptive=Rule("soft"))
    with pytest.raises(AlloyError, match=r"adaptive"):
        swept(store.storage.url, [billing, delivery], passes=4)
    with pytest.raises(AlloyError, match=r"adaptive"):
        swept(store.storage.url, [delivery], passes=0, adaptive=RULE)


def test_shares_of_the_shards_make_the_same_store(
    store: Store, billing: TeacherInfo, delivery: TeacherInfo, tmp_path: Path
) -> None:
    for part in (1, 0):
        swept(tmp_path / "k", [billing, delivery], passes=0, adaptive=RULE, part=(part, 2))
    assert arrays(tmp_path / "k") == arrays(Path(store.storage.url))


def test_muka_reads_the_jackknifed_uncertainty(store: Store, billing: TeacherInfo, delivery: TeacherInfo) -> None:
    from alloykit.labels import LabelSpace

    method = create({"name": "muka", "mode": "hard", "passes": "adaptive"})
    assert method.needs.adaptive == RULE
    assert method.needs.read == "adaptive"
    rows = read(store, NAMES, passes="adaptive").rows(range(40))  # type: ignore[arg-type]
    space = LabelSpace.union([billing.labels, delivery.labels], teacher_names=NAMES)
    weights = method.supervise(rows, Context(space)).teacher_weights  # type: ignore[union-attr]
    u = torch.stack([t.uncertainty for t in rows.teachers], -1)  # type: ignore[misc]
    assert weights is not None
    assert torch.equal(weights.argmax(-1), u.argmin(-1))


def test_open_rows_after_the_last_unit_is_nothing_new(store: Store) -> None:
    for shard, ids in enumerate(store.shards()):
        open_ = open_rows(store, NAMES, shard, len(ids), RULE, 1)
        assert store.load(round_unit("billing", shard, 4))["rows"].tolist() == open_.tolist()
        assert store.load(adaptive_unit("billing", shard))["passes"].tolist() == [
            len(all_passes(store, "billing", shard, row)) for row in range(len(ids))
        ]


@pytest.mark.parametrize("wrong", [{"confidence": "percentile"}, {"probabilities": "averaged"}])
def test_what_adaptive_passes_are_not_defined_for(wrong: dict[str, str]) -> None:
    with pytest.raises(Exception, match="adaptive"):
        create({"name": "muka", "passes": "adaptive"} | wrong)
