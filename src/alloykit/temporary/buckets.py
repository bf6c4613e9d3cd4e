"""Rows sorted into buckets in a temporary file, so that a table can be sorted or joined bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array

BLOCK = 1 << 16  # rows that are in memory at a time
MAX_BUCKETS = 1024


def buckets_for(rows: int) -> int:
    """A power of two: so many buckets that each has about `BLOCK` rows or fewer, up to 67 million rows."""
    return min(MAX_BUCKETS, 1 << max(0, (max(rows, 1) - 1).bit_length() - BLOCK.bit_length() + 1))


class Buckets:
    """Rows are added in any portions. Then each bucket is read on its own, in the order in which its rows were added.

    Memory holds one block of rows, and 4 bytes per block and bucket.
    """

    def __init__(self, what: str, count: int) -> None:
        """what: the content, for messages. count: the number of buckets. AlloyError where no file can be made."""
        self.count, self._file = count, RowFile(what)
        self._waiting, self._rows = list[tuple[Array, Array]](), 0
        self._blocks = list[tuple[int, Array]]()  # its first row in the file, and where its buckets begin

    def add(self, bucket: Array, rows: Array) -> None:
        """bucket: [n], the bucket of each row. rows: [n, …], of the same dtype and width in every call. AlloyError where the disk is full."""
        self._waiting.append((bucket, rows))
        self._rows += len(rows)
        if self._rows >= BLOCK:
            self._write()

    def pieces(self, bucket: int) -> Iterator[Array]:
        """The rows of a bucket, in pieces that are not empty; each is a part of one block."""
        self._write()
        for first, starts in self._blocks:
            begin, end = int(starts[bucket]), int(starts[bucket + 1])
            if begin < end:
                yield self._file.between(first + begin, first + end)

    def read(self, bucket: int) -> Array:
        """All rows of a bucket, [n, …]."""
        pieces = list(self.pieces(bucket))
        return np.concatenate([self._file.between(0, 0), *pieces])

    def _write(self) -> None:
        if self._rows:
            bucket, rows = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
            starts = np.zeros(self.count + 1, np.int32)
            np.cumsum(np.bincount(bucket, minlength=self.count), out=starts[1:])
            self._blocks.append((self._file.append(rows[np.argsort(bucket, kind="stable")]), starts))
        self._waiting, self._rows = [], 0
