"""Single files of a store, without a teacher: what a shard, a record and a unit must be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
from knowing import recorded

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import ids_unit, logits_unit, passes_unit

SHARD = "00000-5f2c"
PASSES = {
    "probability_sum": torch.zeros(3, 2),
    "passes": torch.full((3,), 4, dtype=torch.int32),
    "per_pass": torch.zeros(4, 3, 2),
}


def ids(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (rows, 16), np.uint8)


def test_ids_that_were_just_added_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path, shard_rows=4)
    names = store.add(ids(10))
    assert [name.split("-")[0] for name in names] == ["00000", "00001", "00002"]
    monkeypatch.setattr(store.storage, "read", lambda name: pytest.fail(f"{name} is read"))
    shards = store.shards()
    assert list(shards) == names
    assert [shards.rows(name) for name in names] == [4, 4, 2]
    assert np.array_equal(np.concatenate(list(shards.values())), ids(10))
    assert "00000-x" not in shards
    with pytest.raises(KeyError):
        shards["00000-x"]


WRONG: dict[str, Callable[[torch.Tensor], dict[str, torch.Tensor]]] = {
    "shape": lambda rows: {"ids": rows.reshape(-1, 8)},
    "axes": lambda rows: {"ids": rows.reshape(-1)},
    "dtype": lambda rows: {"ids": rows.view(torch.int8)},
    "one more": lambda rows: {"ids": rows, "more": torch.zeros(1)},
    "name": lambda rows: {"rows": rows},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_shard_is_refused(what: str, tmp_path: Path) -> None:
    """The digest in its name is that of the same bytes."""
    store, name = Store(tmp_path), f"00000-{hashlib.sha256(ids(4).tobytes()).hexdigest()[:12]}"
    store.save(ids_unit(name), WRONG[what](torch.from_numpy(ids(4))))
    with pytest.raises(AlloyError, match="with the ids of the texts that it is named after; got something else"):
        Store(tmp_path).shards()


def test_a_sampling_is_free_until_there_are_passes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorded(store, "t", 2)
    store.save(logits_unit("t", SHARD), {"logits": torch.zeros(2, 3).T})
    sampling = store.identity("t", "sampling")
    assert sampling is not None
    store.identify("t", "sampling", sampling | {"seed": 1})
    store.save(passes_unit("t", SHARD, 0), PASSES)
    for unit in (logits_unit("t", SHARD), passes_unit("t", SHARD, 0)):
        assert store.answers(unit, 3).keys() == store.load(unit).keys()
    with pytest.raises(AlloyError, match="made with seed = 0; got seed = 1"):
        store.identify("t", "sampling", sampling)


def test_a_record_may_say_more_than_is_compared(tmp_path: Path) -> None:
    """Of a fingerprint the message has the first characters."""
    store = Store(tmp_path)
    recorded(store, "t", 2)
    made = store.identity("t", "teacher")
    assert made is not None
    store.identify("t", "teacher", made | {"config": 64 * "c", "later": 5})
    store.save(logits_unit("t", SHARD), {"logits": torch.zeros(3, 2)})
    store.identify("t", "teacher", made)
    with pytest.raises(AlloyError, match=f"config = {12 * 'd'}…; got config = {12 * 'c'}… in"):
        store.identify("t", "teacher", made | {"config": 64 * "d"})


def test_answers_of_a_teacher_without_a_record_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorded(store, "t", 2)
    store.save(logits_unit("t", SHARD), {"logits": torch.zeros(3, 2)})
    (tmp_path / "teachers" / "t" / "teacher.json").unlink()
    for unit in (logits_unit("t", SHARD), "elsewhere/x"):
        with pytest.raises(AlloyError, match=f"a record of the teacher that made {unit}"):
            store.answers(unit, 3)


def test_a_teacher_keeps_files_of_its_own_on_a_local_disk_only(tmp_path: Path) -> None:
    assert Store(tmp_path).folder_of("t") == f"{tmp_path}/own/t"
    assert Store("memory://store-files").folder_of("t") is None
    fsspec.filesystem("memory").rm("/store-files", recursive=True)


def test_a_worker_opens_a_store_that_is_there(tmp_path: Path) -> None:
    Store(tmp_path / "k", shard_rows=7)
    assert Store.existing(tmp_path / "k").shard_rows == 7
    with pytest.raises(AlloyError, match=r"the store .*elsewhere on every machine that computes.*--cache"):
        Store.existing(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
