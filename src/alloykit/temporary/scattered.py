"""Numbers that come in any order, written to a temporary file in the order of their places."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from alloykit.temporary.buckets import BLOCK, MAX_BUCKETS, Buckets
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array


def scattered(what: str, n: int, pairs: Iterable[tuple[Array, Array]]) -> RowFile:
    """A file of n int64 numbers. what: the content, for messages.

    pairs: places and numbers, [m] each. Every place from 0 to n − 1 comes exactly once.
    """
    size = range_size(n)
    ranges = max(1, -(-n // size))
    parts = Buckets(what, ranges)
    for places, numbers in pairs:
        parts.add(places // size, np.stack([places, numbers], -1).astype(np.int64))
    found = RowFile(what)
    for part in range(ranges):
        rows = np.empty(min(size, n - part * size), np.int64)
        for piece in parts.pieces(part):
            rows[piece[:, 0] - part * size] = piece[:, 1]
        found.append(rows)
    return found


def range_size(n: int) -> int:
    """How many of n places one bucket holds."""
    return max(BLOCK, -(-n // MAX_BUCKETS))
