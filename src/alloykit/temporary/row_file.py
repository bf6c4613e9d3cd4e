"""Rows of numbers that all have the same width, in a temporary file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from alloykit.file_errors import scratch
from alloykit.temporary.mapped_file import MappedFile
from alloykit.temporary.rows_at import Array, bytes_at, rows_at


class RowFile:
    """Rows are appended, then read in any order. Nothing of them is in memory. A pickled `RowFile` reads the same file."""

    def __init__(self, what: str) -> None:
        """what: the content, for messages. AlloyError where no file can be made."""
        self.file = MappedFile(what)
        self._set(np.dtype(np.float32), (0,))

    def __getstate__(self) -> tuple[MappedFile, np.dtype[Any], tuple[int, ...]]:
        return self.file, self._dtype, self._shape

    def __setstate__(self, state: tuple[MappedFile, np.dtype[Any], tuple[int, ...]]) -> None:
        self.file = state[0]
        self._set(*state[1:])

    def _set(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._dtype, self._shape, self._bytes = dtype, shape, max(dtype.itemsize * math.prod(shape), 1)

    def __len__(self) -> int:
        return self.file.size // self._bytes

    def append(self, rows: Array) -> int:
        """[n, …] of the dtype and width of the first call. Returns the place of the first row. AlloyError where the disk is full."""
        if not self.file.size:
            self._set(rows.dtype, rows.shape[1:])
        elif (self._dtype, self._shape) != (rows.dtype, rows.shape[1:]):
            raise ValueError(f"expected rows of {self._dtype} {self._shape}, got {rows.dtype} {rows.shape[1:]}")
        return self.file.write(np.ascontiguousarray(rows)) // self._bytes

    def read(self, places: Array) -> Array:
        """The rows at these places, a copy, [len(places), …]. AlloyError where the file is gone."""
        with scratch(self.file.what):
            return rows_at(self.file.opened(), 0, places, self._dtype, self._shape)

    def between(self, start: int, end: int) -> Array:
        """The rows from one place to before another, a copy, [end - start, …]. AlloyError where the file is gone or ends before."""
        with scratch(self.file.what):
            data = bytes_at(self.file.opened(), start * self._bytes, (end - start) * self._bytes)
        return np.frombuffer(data, self._dtype).reshape(end - start, *self._shape)

    def blocks(self, size: int) -> Iterator[tuple[int, Array]]:
        """The place of the first row of each block, and a copy of the block: at most `size` rows after another."""
        for start in range(0, len(self), size):
            yield start, self.between(start, min(start + size, len(self)))
