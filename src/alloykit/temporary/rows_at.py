"""Some rows of a file, read by their places."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
GAP = 4096  # bytes between two rows that are read over rather than read around


def bytes_at(file: int, start: int, size: int) -> bytearray:
    """`size` bytes of an open file. OSError where it has fewer."""
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        got = os.preadv(file, [view[done:]], start + done)
        if not got:
            raise OSError(f"the file ends at byte {start + done}, before byte {start + size}")
        done += got
    return data


def rows_at(file: int, offset: int, places: Array, dtype: Any, shape: tuple[int, ...]) -> Array:
    """A copy of the rows at these places, [len(places), *shape]. offset: of row 0, in bytes. OSError.

    They are read and not mapped: of a mapped file, the system may count a megabyte around each row as memory of this process."""
    found = np.empty((len(places), *shape), dtype)
    if not found.size:
        return found
    order = np.argsort(places, kind="stable")
    at, size = np.asarray(places)[order], found.nbytes // len(found)
    ends = [*(np.flatnonzero(np.diff(at) * size > GAP) + 1).tolist(), len(at)]
    start = 0
    for end in ends:
        first, last = int(at[start]), int(at[end - 1])
        data = bytes_at(file, offset + first * size, (last + 1 - first) * size)
        found[order[start:end]] = np.frombuffer(data, dtype).reshape(-1, *shape)[at[start:end] - first]
        start = end
    return found
