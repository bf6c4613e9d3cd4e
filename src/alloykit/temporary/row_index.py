"""The row of each text id: a sorted table in a temporary file, 24 bytes per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from alloykit.temporary.buckets import BLOCK, Buckets, buckets_for
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array
from alloykit.temporary.scattered import scattered

Ids = Sequence[str] | Array | RowFile
"""Text ids, as strings of 32 hex characters or as rows of [n, 16] uint8."""
WHAT = "the ids of the texts"


def id_blocks(ids: Ids, size: int = BLOCK) -> Iterator[Array]:
    """[·, 16] uint8 each, `size` ids after another."""
    if isinstance(ids, RowFile):
        yield from (block for _, block in ids.blocks(size))
        return
    for start in range(0, len(ids), size):
        part = ids[start : start + size]
        if not isinstance(part, np.ndarray):
            part = np.frombuffer(bytearray.fromhex("".join(part)), dtype=np.uint8).reshape(-1, 16)
        yield part


class RowIndex:
    """Looks up rows by id. Memory holds some blocks of ids, however many there are.

    The ids are spread evenly, because they are hashes. So their first bits give parts of about equal size, and each part is sorted and
    searched in memory.
    """

    def __init__(self, blocks: Iterable[Array], rows: int) -> None:
        """blocks: the ids of all rows in order, [·, 16] uint8 each. rows: how many there are. Of equal ids the first counts. AlloyError where the
        disk is full."""
        self._parts = buckets_for(rows)
        known, sorted_, self.distinct = entries_by_part(blocks, self._parts)[0], RowFile(WHAT), 0
        starts = np.zeros(self._parts + 1, np.int64)
        for part in range(self._parts):
            entries = known.read(part)
            if len(entries):
                entries = in_order(entries)
                self.distinct += 1 + int((entries[1:, :2] != entries[:-1, :2]).any(-1).sum())
                sorted_.append(entries)
            starts[part + 1] = starts[part] + len(entries)
        self.table = SortedTable(sorted_, starts)

    def find(self, blocks: Iterable[Array]) -> RowFile:
        """The row of each id, −1 if there is none: [m] int64 in a temporary file. blocks: ids, [·, 16] uint8 each."""
        asked, n = entries_by_part(blocks, self._parts)
        return scattered("the rows of the texts", n, self._found(asked))

    def _found(self, asked: Buckets) -> Iterator[tuple[Array, Array]]:
        for part in range(self._parts):
            if len(entries := asked.read(part)):
                yield entries[:, 2].astype(np.int64), rows_of_ids(self.table.part(part, self._parts), entries)


class Between(Protocol):
    """A file of rows. `between(start, end)`: some of them."""

    def between(self, start: int, end: int) -> Array: ...


class SortedTable:
    """Entries of two halves of an id and its place, [n, 3] uint64, in the order of the ids. Equal ids are in the order of their places.

    starts: where the parts of ids with the same first bits begin, [parts + 1] int64. The number of parts is a power of two.
    """

    def __init__(self, rows: Between, starts: Array) -> None:
        self.rows, self.starts = rows, starts

    @property
    def parts(self) -> int:
        """How many parts the table has."""
        return len(self.starts) - 1

    def part(self, part: int, parts: int) -> Array:
        """The entries of one of `parts` parts, [·, 3] uint64. parts: a power of two; the parts have about equal size."""
        own = self.parts
        first, last = part * own // parts, -(-(part + 1) * own // parts)
        entries = self.rows.between(self.starts[first].item(), self.starts[last].item()).reshape(-1, 3)
        if parts > own:
            start, end = first_of_parts(entries, parts, part, 1).tolist()
            entries = entries[start:end]
        return entries


def first_of_parts(entries: Array, parts: int, first: int, count: int) -> Array:
    """Where each of `count` parts begins, from the one with the number `first`, and their end, [count + 1] int64. entries: sorted, of these parts only."""
    wanted = np.arange(first, first + count + 1)
    found: Array = np.searchsorted(part_of(entries, parts), wanted)
    return found


def entries_by_part(blocks: Iterable[Array], parts: int) -> tuple[Buckets, int]:
    """Entries of two halves of an id and its place, [·, 3] uint64, by the first bits of the id. Also how many there are.

    blocks: ids, [·, 16] uint8 each. parts: a power of two."""
    found, n = Buckets(WHAT, parts), 0
    for block in blocks:
        entries = np.empty((len(block), 3), np.uint64)
        entries[:, :2] = block.view(np.uint64).reshape(-1, 2)
        entries[:, 2] = np.arange(n, n + len(block))
        found.add(part_of(entries, parts), entries)
        n += len(block)
    return found, n


def part_of(entries: Array, parts: int) -> Array:
    """The part of each entry, [n] int64. parts: a power of two."""
    shift = 65 - parts.bit_length()
    return (entries[:, 0] >> shift).astype(np.int64) if shift < 64 else np.zeros(len(entries), np.int64)


def in_order(entries: Array, *, by_place: bool = False) -> Array:
    """The entries in the order of their ids. Equal ids keep their order, or are in the order of their places."""
    keys = (entries[:, 1], entries[:, 0])
    found: Array = entries[np.lexsort((entries[:, 2], *keys) if by_place else keys)]
    return found


def rows_of_ids(known: Array, entries: Array) -> Array:
    """The place in `known`, which is sorted, of each entry's id, −1 if there is none. Of equal ids the first counts. [m] int64"""
    high = np.ascontiguousarray(known[:, 0])
    found = np.full(len(entries), -1, dtype=np.int64)
    at = np.searchsorted(high, entries[:, 0])
    open_ = np.arange(len(entries))
    while len(open_):  # more than one round only if the first halves of ids are equal
        open_ = open_[at[open_] < len(high)]
        open_ = open_[high[at[open_]] == entries[open_, 0]]
        hit = known[at[open_], 1] == entries[open_, 1]
        found[open_[hit]] = known[at[open_[hit]], 2]
        open_ = open_[~hit]
        at[open_] += 1
    return found
