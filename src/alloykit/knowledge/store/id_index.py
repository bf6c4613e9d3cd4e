"""Where the ids of a store's rows are: sorted tables of ids, each of some shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from alloykit.temporary.buckets import buckets_for
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import RowIndex, SortedTable, entries_by_part, rows_of_ids
from alloykit.temporary.rows_at import Array
from alloykit.temporary.scattered import scattered

WHAT = "the rows of the texts"


@dataclass(frozen=True)
class Segment:
    """The sorted ids of some shards. `shards`: name → number of rows, oldest first. Places in `table` are counted over these shards.
    `stored`: the name of its file in the store, None for one in a temporary file."""

    shards: Mapping[str, int]
    table: SortedTable
    stored: str | None = None

    @property
    def rows(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> Array:
        """Where each shard begins, and the end. [shards + 1] int64"""
        found: Array = np.cumsum([0, *self.shards.values()])
        return found

    def part(self, part: int, parts: int, first: Array) -> Array:
        """Entries of one of `parts` parts, [·, 3] uint64. first: the new place of each shard's first row, −1 for shards that are left out, [shards] int64.

        The order of the shards must be the same in both numberings.
        """
        entries = self.table.part(part, parts)
        old = entries[:, 2].astype(np.int64)
        shard = np.searchsorted(self.starts[1:], old, side="right")
        moved = entries.copy()
        moved[:, 2] = (old + first[shard] - self.starts[shard]).astype(np.uint64)
        kept = first[shard] >= 0
        return moved if kept.all() else moved[kept]


class IdIndex:
    """Looks up the rows of some shards by id. Memory holds some blocks of ids, however many there are."""

    def __init__(self, shards: Mapping[str, int], segments: Sequence[Segment]) -> None:
        """shards: name → number of rows; rows are counted over them in this order, oldest first. Each is in exactly one segment."""
        starts = np.cumsum([0, *shards.values()])
        first = dict(zip(shards, starts.tolist(), strict=False))
        self.rows = int(starts[-1])
        self._segments = [(s, np.array([first.get(name, -1) for name in s.shards], np.int64)) for s in segments]
        self._parts = buckets_for(max([self.rows, *(s.rows for s in segments)]))

    def find(self, blocks: Iterable[Array]) -> RowFile:
        """The row of each id, −1 if there is none: [m] int64 in a temporary file. Of equal ids the oldest counts.

        blocks: ids, [·, 16] uint8 each."""
        asked, n = entries_by_part(blocks, self._parts)

        def found() -> Iterator[tuple[Array, Array]]:
            for part in range(self._parts):
                entries = asked.read(part)
                if not len(entries):
                    continue
                rows = np.full(len(entries), self.rows)
                for segment, first in self._segments:
                    here = rows_of_ids(segment.part(part, self._parts, first), entries)
                    rows = np.where(here < 0, rows, np.minimum(rows, here))
                yield entries[:, 2].astype(np.int64), np.where(rows == self.rows, -1, rows)

        return scattered(WHAT, n, found())

    def positions(self, texts: RowIndex) -> RowFile:
        """The position of each row's text in a table, −1 if it is not there: [rows] int64 in a temporary file. texts: the table's ids."""

        parts = max(self._parts, texts.table.parts)

        def found() -> Iterator[tuple[Array, Array]]:
            for part in range(parts if self._segments else 0):
                known = texts.table.part(part, parts)
                for segment, first in self._segments:
                    entries = segment.part(part, parts, first)
                    yield entries[:, 2].astype(np.int64), rows_of_ids(known, entries)

        return scattered(WHAT, self.rows, found())
