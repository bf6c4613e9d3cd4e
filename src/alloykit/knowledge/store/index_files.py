"""Sorted ids that are kept in the store, so that a process need not read every file of ids and sort them.

    index/DIGEST.rows   entries of two halves of an id and its place, [n, 3] uint64, in the order of the ids
    index/DIGEST.json   the shards whose ids these are, written last

They are a cache: what does not fit the shards that are there, or is damaged, is not used. DIGEST is of the names of the shards, and these have the digests
of the ids. So processes that write the same file write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, StrictInt, StrictStr

from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.knowledge.store.id_index import Segment
from alloykit.knowledge.store.records import SHA256, PositiveCount, Record, parse_record
from alloykit.knowledge.store.storage import Storage
from alloykit.temporary.buckets import MAX_BUCKETS, buckets_for
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import WHAT, SortedTable, first_of_parts, in_order
from alloykit.temporary.rows_at import Array, bytes_at

FROM = 256  # shards that are in no file; fewer are read and sorted in a moment
ROW = 24  # bytes
PIECE = ROW << 17  # bytes that are read at once
FOLDER = "index"


class IndexRecord(Record):
    """`index/DIGEST.json`. `shards`: their names, oldest first. `rows`: how many each has. `starts`: where the parts of the table begin, and its end."""

    sha256: SHA256
    shards: list[StrictStr]
    rows: list[PositiveCount]
    starts: Annotated[list[Annotated[StrictInt, Field(ge=0, lt=1 << 63)]], Field(min_length=2)]  # they become int64


def index_bytes(shards: int, rows: int) -> int:
    """Size of the files for a new store."""
    return ROW * rows + 32 * shards + 10 * MAX_BUCKETS if shards >= FROM else 0


def read_segments(storage: Storage, shards: Sequence[str]) -> list[Segment]:
    """The stored segments that fit these shards, the largest first. No shard is in two of them. AlloyError if the folder cannot be listed."""
    wanted, taken, segments = set(shards), set[str](), list[Segment]()
    found = sorted(_records(storage), key=lambda item: (-item[1].starts[-1], item[0]))
    for name, record in found:
        here = set(record.shards)
        if here <= wanted and not here & taken:
            with suppress(AlloyError):  # it is damaged, or another process has just replaced it by a larger one
                segments.append(_opened(storage, name, record))
                taken |= here
    return segments


def write_segment(storage: Storage, segments: Sequence[Segment]) -> Segment:
    """One segment of the shards of these, written to the store. Stored ones that have no other shards are removed. AlloyError."""
    rows_of = {shard: rows for s in segments for shard, rows in s.shards.items()}
    names = sorted(rows_of, key=lambda shard: (int(shard.split("-")[0]), shard))
    shards = {shard: rows_of[shard] for shard in names}
    rows, starts, checksum = _merged(shards, segments)
    name = digest([sys.byteorder, names])[:16]
    storage.put(f"{FOLDER}/{name}.rows", rows.file.path)
    record = {"sha256": checksum, "shards": names, "rows": list(shards.values()), "starts": starts.tolist()}
    storage.write(f"{FOLDER}/{name}.json", (json.dumps(record) + "\n").encode())
    for other, about in _records(storage):
        if other != name and set(about.shards) <= shards.keys():
            for ending in ("json", "rows"):
                storage.remove(f"{FOLDER}/{other}.{ending}")
    return Segment(shards, SortedTable(rows, starts), name)


def _records(storage: Storage) -> Iterator[tuple[str, IndexRecord]]:
    for name in storage.names(FOLDER):
        if name.endswith(".json"):
            with suppress(AlloyError):  # it is damaged, or another process has just removed it
                path = f"{FOLDER}/{name}"
                yield name.removesuffix(".json"), parse_record(IndexRecord, storage.read(path), storage.path(path))


def _merged(shards: Mapping[str, int], segments: Sequence[Segment]) -> tuple[RowFile, Array, str]:
    """The entries of all segments in one temporary file, where their parts begin, and their checksum."""
    first = dict(zip(shards, np.cumsum([0, *shards.values()]).tolist(), strict=False))
    places = [np.array([first[shard] for shard in s.shards], np.int64) for s in segments]
    rows, starts, checksum = RowFile(WHAT), [0], hashlib.sha256()
    parts = buckets_for(sum(shards.values()))
    for part in range(parts):
        entries = np.concatenate([s.part(part, parts, at) for s, at in zip(segments, places, strict=True)])
        if len(segments) > 1:
            entries = in_order(entries, by_place=True)
        step = MAX_BUCKETS // parts
        starts += (rows.append(entries) + first_of_parts(entries, MAX_BUCKETS, part * step, step)[1:]).tolist()
        checksum.update(np.ascontiguousarray(entries).data)
    return rows, np.array(starts, np.int64), checksum.hexdigest()


def _opened(storage: Storage, name: str, record: IndexRecord) -> Segment:
    """AlloyError if the file is not the one that the record describes."""
    shards, path = dict(zip(record.shards, record.rows, strict=False)), f"{FOLDER}/{name}.rows"
    rows = sum(shards.values())
    copy = None if storage.is_local else RowFile(WHAT)
    checksum, size, places_fit = hashlib.sha256(), 0, True
    for piece in storage.pieces(path, PIECE):
        checksum.update(piece)
        size += len(piece)
        if len(piece) % ROW:
            break
        entries = np.frombuffer(piece, np.uint64).reshape(-1, 3)
        places_fit = places_fit and bool((entries[:, 2] < rows).all())
        if copy is not None:
            copy.append(entries)
    starts = np.array(record.starts, np.int64)
    fits = (
        places_fit
        and len(record.rows) == len(record.shards) == len(shards)
        and len(starts) == MAX_BUCKETS + 1
        and starts[0] == 0
        and starts[-1] == rows
        and (np.diff(starts) >= 0).all()
    )
    if not fits or size != ROW * rows or checksum.hexdigest() != record.sha256:
        raise AlloyError(expected=f"an intact file {storage.path(path)}", got="another content")
    return Segment(shards, SortedTable(copy or _LocalRows(storage.path(path)), starts), name)


class _LocalRows:
    """[n, 3] uint64 in a file that never changes. It can be read to the end also after it was removed."""

    def __init__(self, path: str) -> None:
        with file_errors(Path(path)):
            self._path, self._file = Path(path), FileIO(path)

    def between(self, start: int, end: int) -> Array:
        with file_errors(self._path):
            data = bytes_at(self._file.fileno(), start * ROW, (end - start) * ROW)
        return np.frombuffer(data, np.uint64).reshape(-1, 3)
