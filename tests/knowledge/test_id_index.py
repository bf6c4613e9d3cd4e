"""Sorted ids in the store: they save reading the files of ids, and whatever happens to them, the same rows are found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest

from alloykit.knowledge.store import store as store_module
from alloykit.knowledge.store.index_files import index_bytes
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import ids_unit
from alloykit.temporary.row_index import RowIndex

ROWS = 5  # per shard


@pytest.fixture(autouse=True)
def few_shards_are_many() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "SORTED_FROM", 3)
        yield


def ids(start: int, end: int) -> np.ndarray:
    found = np.random.default_rng(7).integers(0, 256, (500, 16), np.uint8)
    found[100:110, :8] = found[0:10, :8]  # the same first half as others
    return found[start:end]


def added(url: str | Path, *parts: tuple[int, int]) -> Store:
    """A store to which texts were added in turn, with an index after each."""
    store = Store(url, shard_rows=ROWS)
    for part in parts:
        store.add(ids(*part))
        store.keep_index()
    return store


def expected(store: Store, wanted: np.ndarray) -> list[int]:
    """By a search through all files of ids: the first row of each id."""
    rows = [bytes(row) for name in store.shards() for row in store.load(ids_unit(name))["ids"].numpy()]
    return [rows.index(bytes(w)) if bytes(w) in rows else -1 for w in wanted]


def found(store: Store, wanted: np.ndarray) -> list[int]:
    return store.index(list(store.shards())).find([wanted]).between(0, len(wanted)).tolist()


def segments(store: Store) -> list[str]:
    return [name for name in store.storage.names("index") if name.endswith(".rows")]


@pytest.mark.parametrize("place", ["local", "memory://id-index"])
def test_a_process_finds_the_rows_without_the_files_of_ids(tmp_path: Path, place: str) -> None:
    url = tmp_path / "store" if place == "local" else place
    if place != "local" and (files := fsspec.filesystem("memory")).exists("/id-index"):
        files.rm("/id-index", recursive=True)
    added(url, (0, 150))
    wanted = np.concatenate([ids(90, 170)[::-1], ids(95, 112)])
    before = expected(Store(url), wanted)
    assert found(Store(url), wanted) == before
    again = Store(url)
    read: list[str] = []
    again.storage.read = lambda name, real=again.storage.read: (read.append(name), real(name))[1]  # type: ignore[method-assign]
    assert found(again, wanted) == before
    assert not [name for name in read if name.startswith("shards/")]
    name = list(again.shards())[3]
    assert (again.shards()[name] == ids(15, 20)).all()  # one that is asked for is read


def test_rows_of_some_shards_and_positions_of_texts(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 60), (40, 130))  # texts that two processes added at once have two rows
    store.add(ids(130, 140))  # these two shards are in no file of sorted ids
    for each in (store, Store(tmp_path)):
        names, texts = list(each.shards()), ids(20, 139)
        positions = each.index(names).positions(RowIndex([texts], len(texts)))
        order = [bytes(row) for row in texts]
        rows = [bytes(row) for name in names for row in each.shards()[name]]
        assert positions.between(0, len(rows)).tolist() == [order.index(r) if r in order else -1 for r in rows]
        chosen = names[3:5] + names[9:]
        some = [bytes(row) for name in chosen for row in each.shards()[name]]
        rows_of = each.index(chosen).find([texts]).between(0, len(texts)).tolist()
        assert rows_of == [some.index(t) if t in some else -1 for t in order]


def test_new_shards_are_merged_into_files_that_are_not_much_larger(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 400))
    assert len(segments(store)) == 1
    store = added(tmp_path, (400, 420))
    assert len(segments(store)) == 2  # 80 shards and 4
    store = added(tmp_path, (420, 440), (440, 460))
    assert len(segments(store)) == 2
    wanted = ids(0, 500)
    assert found(Store(tmp_path), wanted) == expected(store, wanted)


@pytest.mark.parametrize("damage", ["cut", "changed", "places of no row", "other record", "rows gone", "shard gone"])
def test_an_index_that_does_not_fit_is_made_again(tmp_path: Path, damage: str) -> None:
    store = added(tmp_path, (0, 100))
    (rows,), (record,) = (tmp_path / "index").glob("*.rows"), (tmp_path / "index").glob("*.json")
    if damage == "cut":
        rows.write_bytes(rows.read_bytes()[:-24])
    elif damage == "changed":
        content = bytearray(rows.read_bytes())
        content[40] ^= 1
        rows.write_bytes(content)
    elif damage == "places of no row":  # with a valid checksum
        entries = np.frombuffer(rows.read_bytes(), np.uint64).reshape(-1, 3).copy()
        entries[7, 2] = 1 << 40
        rows.write_bytes(entries.tobytes())
        about = json.loads(record.read_text()) | {"sha256": hashlib.sha256(entries.tobytes()).hexdigest()}
        record.write_text(json.dumps(about))
    elif damage == "other record":
        record.write_text(
            '{"sha256": "' + "0" * 64 + '", "shards": ["00000-000000000000"], "rows": [5, 5], "starts": [0, 5]}'
        )
    elif damage == "rows gone":
        rows.unlink()
    else:
        for file in (tmp_path / "shards").glob("*/00003-*"):
            file.unlink()
    wanted = ids(0, 120)
    fresh = Store(tmp_path)
    assert found(fresh, wanted) == expected(fresh, wanted)
    fresh.keep_index()
    read: list[str] = []
    last = Store(tmp_path)
    last.storage.read = lambda name, real=last.storage.read: (read.append(name), real(name))[1]  # type: ignore[method-assign]
    assert found(last, wanted) == expected(store if damage != "shard gone" else fresh, wanted)
    assert not [name for name in read if name.startswith("shards/")]


def test_two_processes_write_the_same_file(tmp_path: Path) -> None:
    one, two = Store(tmp_path, shard_rows=ROWS), Store(tmp_path)
    one.add(ids(0, 100))
    two.shards()
    one.keep_index()
    first = {p.name: p.read_bytes() for p in (tmp_path / "index").iterdir()}
    two.keep_index()
    assert {p.name: p.read_bytes() for p in (tmp_path / "index").iterdir()} == first
    one.add(ids(100, 200))
    two.shards()
    one.keep_index()  # merges, and removes the file that the other process has open
    assert found(two, ids(0, 210)) == expected(one, ids(0, 210))
    assert len(segments(one)) == 1


def test_the_announced_size(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alloykit.knowledge.store.index_files.FROM", 3)
        added(tmp_path, (0, 400))
        size = sum(path.stat().st_size for path in (tmp_path / "index").iterdir())
        assert 24 * 400 < size < index_bytes(80, 400) < 24 * 400 + 15_000
        assert index_bytes(2, 10) == 0
