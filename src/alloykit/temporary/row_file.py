"""Rows of numbers that all have the same width, in a temporary file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from alloykit.temporary.mapped_file import AROUND, MappedFile

Array = np.ndarray[Any, Any]


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
        self._all = np.empty((0, *shape), dtype)

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
        """The rows at these places, a copy, [len(places), …]."""
        return self._mapped(len(places))[places]

    def between(self, start: int, end: int) -> Array:
        """The rows from one place to before another, a copy, [end - start, …]."""
        return self._mapped(1 + (end - start) * self._bytes // AROUND)[start:end].copy()

    def blocks(self, size: int) -> Iterator[tuple[int, Array]]:
        """The place of the first row of each block, and a copy of the block: at most `size` rows after another."""
        for start in range(0, len(self), size):
            yield start, self.between(start, min(start + size, len(self)))

    def _mapped(self, reads: int) -> Array:
        data = self.file.mapped(reads)
        if len(self._all) < len(self):
            self._all = np.frombuffer(data, self._dtype).reshape(len(self), *self._shape)
        return self._all
