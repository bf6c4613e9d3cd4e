"""The row of each text id: a sorted table in a temporary file, 24 bytes per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
        known, self._sorted, self.distinct = self._by_part(blocks)[0], RowFile(WHAT), 0
        self._starts = np.zeros(self._parts + 1, np.int64)
        for part in range(self._parts):
            entries = known.read(part)
            if len(entries):
                entries = entries[np.lexsort((entries[:, 1], entries[:, 0]))]  # keeps the order of equal ids
                self.distinct += 1 + int((entries[1:, :2] != entries[:-1, :2]).any(-1).sum())
                self._sorted.append(entries)
            self._starts[part + 1] = self._starts[part] + len(entries)

    def find(self, blocks: Iterable[Array]) -> RowFile:
        """The row of each id, −1 if there is none: [m] int64 in a temporary file. blocks: ids, [·, 16] uint8 each."""
        asked, n = self._by_part(blocks)
        return scattered("the rows of the texts", n, self._found(asked))

    def _found(self, asked: Buckets) -> Iterator[tuple[Array, Array]]:
        for part in range(self._parts):
            known = self._sorted.between(*self._starts[part : part + 2].tolist()).reshape(-1, 3)
            high = np.ascontiguousarray(known[:, 0])
            for entries in asked.pieces(part):
                yield entries[:, 2].astype(np.int64), _rows(known, high, entries)

    def _by_part(self, blocks: Iterable[Array]) -> tuple[Buckets, int]:
        """Entries of two halves of an id and its place, [·, 3] uint64, by the first bits of the id. Also how many there are."""
        parts, n = Buckets(WHAT, self._parts), 0
        for block in blocks:
            entries = np.empty((len(block), 3), np.uint64)
            entries[:, :2] = np.ascontiguousarray(block).view(np.uint64).reshape(-1, 2)
            entries[:, 2] = np.arange(n, n + len(block))
            shift = 65 - self._parts.bit_length()
            parts.add(
                (entries[:, 0] >> shift).astype(np.int64) if shift < 64 else np.zeros(len(block), np.int64), entries
            )
            n += len(block)
        return parts, n


def _rows(known: Array, high: Array, entries: Array) -> Array:
    """known: sorted; high: its first column. The row of each entry's id, −1 if there is none. [m] int64"""
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
