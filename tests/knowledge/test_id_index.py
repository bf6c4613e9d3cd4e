"""Sorted ids in the store: they save reading the files of ids, and whatever happens to them, the same rows are found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch

from alloykit.errors import AlloyError
from alloykit.knowledge.store import store as store_module
from alloykit.knowledge.store.index_files import index_bytes, read_segments
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import ids_unit
from alloykit.temporary import buckets
from alloykit.temporary.row_index import RowIndex

ROWS = 5  # per shard


@pytest.fixture(autouse=True)
def few_shards_are_many() -> Iterator[None]:
    """And so are few rows: their ids are in several parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "SORTED_FROM", 3)
        patch.setattr(buckets, "BLOCK", 16)
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


def files_of_ids_read(store: Store) -> list[str]:
    """Gets the names of the files of ids that are read from now on."""
    read, real = list[str](), store.storage.read

    def noted(name: str) -> bytes:
        read.extend([name] if name.startswith("shards/") else [])
        return real(name)

    store.storage.read = noted  # type: ignore[method-assign]
    return read


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
    read = files_of_ids_read(again)
    assert found(again, wanted) == before
    assert not read
    name = list(again.shards())[3]
    assert (again.shards()[name] == ids(15, 20)).all()  # one that is asked for is read


def test_rows_of_some_shards_and_positions_of_texts(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 60), (40, 130))  # texts that two processes added at once have two rows
    store.add(ids(128, 138))  # these two shards are in no file of sorted ids, and two of their texts have a row
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
    store.add(ids(138, 143))  # after a search
    assert found(store, ids(0, 150)) == expected(store, ids(0, 150))


def test_new_shards_are_merged_into_files_that_are_not_much_larger(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 400))
    assert len(segments(store)) == 1
    store = added(tmp_path, (400, 420))
    assert len(segments(store)) == 2  # 80 shards and 4
    store = added(tmp_path, (420, 440), (440, 460))
    assert len(segments(store)) == 2
    wanted = ids(0, 500)
    assert found(Store(tmp_path), wanted) == expected(store, wanted)


def test_what_is_merged_may_be_merged_with_a_larger_file(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 300), (300, 375), (375, 400))
    assert len(segments(store)) == 3
    store.add(ids(400, 410))
    store.keep_index()
    assert len(segments(store)) == 3, "two shards are read in a moment"
    store.add(ids(410, 415))
    store.keep_index()  # 15 rows and 25, these 40 and 75, but not these 115 and 300
    assert sorted(path.stat().st_size // 24 for path in (tmp_path / "index").glob("*.rows")) == [115, 300]


def test_a_file_whose_shards_are_in_a_larger_one_does_not_count(tmp_path: Path) -> None:
    """A process that is killed while it merges leaves both."""
    added(tmp_path, (0, 50))
    small = {path: path.read_bytes() for path in (tmp_path / "index").iterdir()}
    added(tmp_path, (50, 150))
    for path, content in small.items():
        assert not path.exists()
        path.write_bytes(content)
    for part in ((150, 300), (300, 450)):
        store = Store(tmp_path)
        read = files_of_ids_read(store)
        store.shards()
        assert not read
        store.add(ids(*part))
        store.keep_index()
    assert len(segments(store)) == 1
    assert found(Store(tmp_path), ids(0, 500)) == expected(store, ids(0, 500))


def test_shards_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Names of 100,000 shards and more are longer than the others. Of two rows of a text the older one counts."""
    store = Store(tmp_path, shard_rows=ROWS)
    store.save(
        ids_unit(f"99998-{hashlib.sha256(ids(0, 5).tobytes()).hexdigest()[:12]}"), {"ids": torch.from_numpy(ids(0, 5))}
    )
    store.add(ids(5, 15))
    store.keep_index()
    store.add(np.concatenate([ids(0, 5), ids(15, 25)]))
    store.keep_index()  # merges both
    assert len(segments(store)) == 1
    for each in (store, Store(tmp_path)):
        assert [int(name.split("-")[0]) for name in each.shards()] == [*range(99_998, 100_004)]
        assert found(each, ids(0, 26)) == [*range(15), *range(20, 30), -1]


RECORDS: dict[str, Callable[[list[int], list[int]], dict[str, list[int]]]] = {
    "rows of a shard less": lambda rows, starts: {"rows": [rows[0] + rows[1], *rows[2:]]},
    "few starts": lambda rows, starts: {"starts": [0, *starts[-3:]]},
    "a later start": lambda rows, starts: {"starts": [max(start, 1) for start in starts]},
    "an earlier end": lambda rows, starts: {"starts": [min(start, starts[-1] - 1) for start in starts]},
    "a start of too many digits": lambda rows, starts: {"starts": [0, 10**30, *starts[2:]]},
    "an end of too many digits": lambda rows, starts: {"starts": [*starts[:-1], 10**30]},
    "too many rows": lambda rows, starts: {"rows": [10**30, *rows[1:]]},
    "a row more": lambda rows, starts: {"rows": [rows[0] + 1, *rows[1:]], "starts": [*starts[:-1], starts[-1] + 1]},
    "starts out of order": lambda rows, starts: {"starts": [*starts[:512], starts[-1], *starts[513:]]},
}
"""What a record of sorted ids may say that does not fit them."""


@pytest.mark.parametrize(
    "damage",
    [
        "cut",
        "cut within a row",
        "changed",
        "places of no row",
        "other record",
        "no record",
        "rows gone",
        "shard gone",
        *RECORDS,
    ],
)
def test_an_index_that_does_not_fit_is_made_again(tmp_path: Path, damage: str) -> None:
    store = added(tmp_path, (0, 100))
    (rows,), (record,) = (tmp_path / "index").glob("*.rows"), (tmp_path / "index").glob("*.json")
    if damage == "cut":
        rows.write_bytes(rows.read_bytes()[:-24])
    elif damage == "cut within a row":
        rows.write_bytes(rows.read_bytes()[:-5])
    elif damage == "no record":
        record.write_bytes(b"{")
    elif damage in RECORDS:
        about = json.loads(record.read_text())
        record.write_text(json.dumps(about | RECORDS[damage](about["rows"], about["starts"])))
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
    wanted_rows, last = expected(store if damage != "shard gone" else fresh, wanted), Store(tmp_path)
    read = files_of_ids_read(last)
    assert found(last, wanted) == wanted_rows
    assert not read


def test_a_file_of_other_shards_is_not_used(tmp_path: Path) -> None:
    store = added(tmp_path, (0, 50))
    names = list(store.shards())
    assert [list(segment.shards) for segment in read_segments(store.storage, names)] == [names]
    assert read_segments(store.storage, names[1:]) == []


def test_a_file_that_is_cut_while_it_is_used_is_an_error(tmp_path: Path) -> None:
    added(tmp_path, (0, 50))
    store = Store(tmp_path)
    store.shards()
    [file] = (tmp_path / "index").glob("*.rows")
    file.write_bytes(b"")
    with pytest.raises(AlloyError, match=rf"{file.name}; got 'the file ends at byte 0"):
        found(store, ids(0, 50))


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
        assert index_bytes(3, 15) > 0
        assert index_bytes(2, 10) == 0
