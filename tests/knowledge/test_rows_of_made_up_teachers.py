"""Which shards a sweep uses, and what is read of them, with outputs that a test makes up: no model reads a text."""

from __future__ import annotations

import math
from pathlib import Path

import fsspec
import pytest
import torch
from knowing import SENTENCES, ids, recorded
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.store import reader
from alloykit.knowledge.store import store as store_module
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit, passes_unit, pooled_unit
from alloykit.knowledge.sweep.pending import bytes_needed, pending_of, shards_for, unit_bytes
from alloykit.knowledge.sweep.request import SweepOptions

ROWS, TEXTS = 4, SENTENCES[:10]
PLAIN = SweepOptions()
SIZES = {"one": 2, "two": 3}


def logits_of(teacher: str, n: int, rows: int = ROWS) -> Tensor:
    """Other numbers for each row and teacher."""
    size = SIZES[teacher]
    return torch.arange(rows * size).reshape(rows, size) + 100.0 * n + 1000.0 * size


def filled(url: Path | str, *, passes: int = 0, single: tuple[bool, ...] = (True, True, True)) -> Store:
    """Ten texts in three shards, and two teachers. single: by shard, whether it keeps single passes. Teacher "two" is no model, and has no answer to
    text 5."""
    store = Store(url, shard_rows=ROWS)
    store.add(ids(TEXTS))
    for teacher, size in SIZES.items():
        recorded(store, teacher, size)
    store.identify("two", "teacher", {"identity": "a function", "classes": 3})
    for n, (shard, rows) in enumerate(store.shards().rows_of.items()):
        for teacher, size in SIZES.items():
            logits = logits_of(teacher, n, rows)
            if teacher == "two" and n == 1:
                logits[1] = math.nan
            store.save(logits_unit(teacher, shard), {"logits": logits})
            each = (torch.arange(4 * rows * size).reshape(4, rows, size) + n) / 100
            for start in range(0, passes, 4):
                tensors = {"probability_sum": each.sum(0), "passes": torch.full((rows,), 4, dtype=torch.int32)}
                store.save(passes_unit(teacher, shard, start), tensors | ({"per_pass": each} if single[n] else {}))
        states = torch.full((rows, 16), float(n)).half()
        for layer in (1, 2):
            store.save(pooled_unit("one", shard, layer), {"pooled": states + 10 * layer})
    return Store(url)


@pytest.mark.parametrize("passes", [0, 4])
def test_each_teacher_has_its_own_answers(passes: int, tmp_path: Path) -> None:
    source = StoredKnowledge(filled(tmp_path, passes=passes), ["one", "two"], ids(TEXTS), passes=passes)
    rows = source.rows([9, 5, 0])
    for teacher, found in zip(SIZES, rows.teachers, strict=True):
        wanted = torch.stack([logits_of(teacher, 2)[1], logits_of(teacher, 1)[1], logits_of(teacher, 0)[0]])
        if teacher == "two":
            wanted[1] = -math.log(3)
        assert torch.equal(found.logits, wanted), (
            "a text without an answer has equal logits, whose probabilities sum to 1"
        )
    assert rows.teachers[0].answered is None
    assert rows.teachers[1].answered is not None
    assert rows.teachers[1].answered.tolist() == [True, False, True]
    assert source.rows([9, 0]).teachers[1].answered is None
    with pytest.raises(AlloyError, match="ends at byte|Invalid"):
        source.rows([10])


def test_a_variance_is_known_if_all_shards_keep_single_passes(tmp_path: Path) -> None:
    each = torch.arange(4 * ROWS * 2).reshape(4, ROWS, 2).double() / 100
    for n, single in enumerate(((True, True, True), (False, True, True), (True, True, False))):
        source = StoredKnowledge(filled(tmp_path / str(n), passes=4, single=single), ["one"], ids(TEXTS[:6]), passes=4)
        expected = float(each.var(0).mean()) if all(single[:2]) else None
        found = source.pass_variance("one")
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-6))
    store = filled(tmp_path / "some", passes=8)
    for shard, rows in store.shards().rows_of.items():  # as after a sweep with few passes of a teacher with many labels
        unit = passes_unit("one", shard, 4)
        store.save(unit, {name: t for name, t in store.load(unit).items() if name != "per_pass"})
        assert store.answers(unit, rows)
    assert StoredKnowledge(store, ["one"], ids(TEXTS), passes=8).pass_variance("one") is None
    assert StoredKnowledge(filled(tmp_path / "k", passes=4), ["one"], ids(TEXTS), passes=1).pass_variance("one") is None


@pytest.mark.parametrize("copied", [True, False])
def test_pooled_states_are_those_of_their_layer(copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "COPIED", 1 << 33 if copied else 0)
    source = StoredKnowledge(filled(tmp_path), ["one", "two"], ids(TEXTS), layers={"one": (2, 1)})
    one, two = source.rows([9, 0, 5]).teachers
    assert two.pooled_states is None
    assert one.pooled_states is not None
    assert [states[:, 0].tolist() for states in one.pooled_states] == [[22, 20, 21], [12, 10, 11]]
    assert one.logits.shape == (3, 2)


@pytest.mark.parametrize("place", ["local", "remote"])
def test_what_would_be_too_large_is_not_copied_from_a_local_store(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that are asked for count, each once. Outputs behind a URL are always copied."""
    url = tmp_path / "k" if place == "local" else "memory://made-up"
    store, asked = filled(url), [*TEXTS[:6], *TEXTS[:6]]
    for limit, copied in ((4 * 5 * 6, True), (4 * 5 * 6 - 1, place == "remote")):
        monkeypatch.setattr(reader, "COPIED", limit)
        source = StoredKnowledge(store, ["one", "two"], ids(asked))
        assert source.rows([0, 7]).teachers[0].logits.tolist() == [[2000, 2001], [2002, 2003]]
        assert (source._copy.file is not None) is copied
    for limit, copied in ((2 * 16 * 6, True), (2 * 16 * 6 - 1, place == "remote")):
        monkeypatch.setattr(reader, "COPIED", limit)
        source = StoredKnowledge(store, ["one"], ids(asked), layers={"one": (1,)})
        assert (source._pooled is not None) is copied
    if place == "remote":
        fsspec.filesystem("memory").rm("/made-up", recursive=True)


def test_a_table_without_texts_has_no_rows(tmp_path: Path) -> None:
    source = StoredKnowledge(filled(tmp_path), ["one"], [])
    assert len(source) == 0
    [teacher] = source.rows([]).teachers
    assert len(teacher.logits) == 0
    assert source.pass_variance("one") is None


def test_only_a_shard_with_a_missing_text_is_named(tmp_path: Path) -> None:
    store = filled(tmp_path)
    names = list(store.shards())
    (tmp_path / f"{logits_unit('two', names[0])}.json").unlink()
    with pytest.raises(AlloyError, match="got 1 of 3 texts missing"):
        StoredKnowledge(Store(tmp_path), ["two"], ids([*TEXTS[8:], "never swept"]))
    with pytest.raises(AlloyError, match=rf"{names[0]}.logits missing"):
        StoredKnowledge(Store(tmp_path), ["two"], ids([*TEXTS[3:], "never swept"]))


def test_a_text_is_filled_once(tmp_path: Path) -> None:
    """Another process has added two of the texts again, and has not filled their row. A text that comes twice gets one row."""
    store = filled(tmp_path)
    first = list(store.shards())
    store.add(ids(TEXTS[2:4]))
    chosen = shards_for(store, ids(TEXTS), ["one"], PLAIN)
    assert list(chosen) == first
    assert not [pending for pending in pending_of(store, "one", chosen, PLAIN) if pending.units]
    more = shards_for(store, ids(["new", *TEXTS[8:], "new"]), ["one"], PLAIN)
    assert [more.rows(shard) for shard in more] == [2, 1]
    assert [list(more[shard]) for shard in more] == [[1, 2], [0]]
    assert first[2] in more
    assert first[0] not in more


def test_a_sweep_keeps_the_index_if_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SORTED_FROM", 3)
    store = filled(tmp_path)
    with monkeypatch.context() as patch:

        def refused(name: str, file: Path) -> None:
            raise AlloyError(expected="a file system that can be written to", got="another one")

        patch.setattr(store.storage, "put", refused)
        assert len(shards_for(store, ids(TEXTS), ["one"], PLAIN)) == 3
    assert not (tmp_path / "index").exists()
    shards_for(store, ids(TEXTS), ["one"], PLAIN)
    assert len(list((tmp_path / "index").iterdir())) == 2


def test_the_announced_sizes_are_those_of_the_arrays(tmp_path: Path) -> None:
    store = filled(tmp_path, passes=8)
    size = 0
    for teacher, classes in SIZES.items():
        for shard, rows in store.shards().rows_of.items():
            for unit in (logits_unit(teacher, shard), passes_unit(teacher, shard, 0), passes_unit(teacher, shard, 4)):
                arrays = sum(tensor.nbytes for tensor in store.load(unit).values())
                assert unit_bytes(unit, rows, classes, 8) == arrays
                size += arrays
    assert bytes_needed(10, list(SIZES.values()), 8) == size + 16 * 10
    pooled = [pooled_unit("one", shard, layer) for shard in store.shards() for layer in (1, 2)]
    states = sum(store.load(unit)["pooled"].nbytes for unit in pooled)
    assert unit_bytes(pooled[0], 10, 2, 8, width=16) == states // 2
    assert bytes_needed(10, list(SIZES.values()), 8, [16, 16]) == size + 16 * 10 + states


@pytest.mark.parametrize(("passes", "instead"), [(2, "4"), (6, "4 or 8")])
def test_a_number_of_passes_that_needs_single_ones_is_refused(passes: int, instead: str, tmp_path: Path) -> None:
    store = filled(tmp_path, passes=8, single=(False, False, False))
    source = StoredKnowledge(store, ["one"], ids(TEXTS), passes=passes)
    with pytest.raises(
        AlloyError, match=f"multiple of 4 .*got {passes}. Set passes to {instead}, or use another folder"
    ):
        source.rows([0])


def test_progress_is_shown_for_many_shards_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = list[int]()
    bar = reader.bar
    monkeypatch.setattr(reader, "bar", lambda what, total, unit: shown.append(total) or bar(what, total, unit))  # type: ignore[func-returns-value]
    store = filled(tmp_path)
    for shards in (4, 3):
        monkeypatch.setattr(reader, "BAR_FROM", shards)
        StoredKnowledge(store, ["one"], ids(TEXTS)).rows([0])
    assert shown == [0, 3]
