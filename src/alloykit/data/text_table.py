"""A table of texts: columns by name, rows by position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array

BATCH = 1000  # rows per read


class TextTable(ABC):
    """Columns by name, rows by position. Only the requested rows are in memory.

    `table["text"]` is the whole column as a list, `table[5]` a row as a dict; `batches` and `take` read in pieces,
    `select` is the same table with fewer rows. A pickled table reads the same files.
    """

    def __init__(self, positions: Array | None) -> None:
        """positions: which of the rows, in which order; all if None."""
        self._positions = positions

    @property
    @abstractmethod
    def column_names(self) -> list[str]:
        """The columns, in order."""

    @abstractmethod
    def _rows(self) -> int:
        """How many rows there are without a selection."""

    @abstractmethod
    def _read(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        """These columns of at least one row, by their positions without a selection, [n] int64."""

    @abstractmethod
    def _selected(self, positions: Array) -> Self:
        """The same table with another selection."""

    def __len__(self) -> int:
        return self._rows() if self._positions is None else len(self._positions)

    def __getitem__(self, which: str | int) -> Any:
        if isinstance(which, str):
            return [value for batch in self.batches([which]) for value in batch[which]]
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        return {name: values[0] for name, values in self.take([which % len(self)]).items()}

    def batches(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[dict[str, list[Any]]]:
        """All rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.take(range(start, min(start + size, len(self))), columns)

    def take(self, positions: Iterable[int], columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """The rows at these positions, in their order."""
        names = list(columns) if columns is not None else self.column_names
        at = np.asarray(positions if isinstance(positions, range | np.ndarray) else list(positions), dtype=np.int64)
        if not len(at):
            return {name: [] for name in names}
        return self._read(self._at(at), names)

    def select(self, positions: Sequence[int] | Array) -> Self:
        """The same table with only the rows at these positions, in their order."""
        return self._selected(self._at(np.asarray(positions, dtype=np.int64)))

    @abstractmethod
    def hold(self, positions: Array, columns: Sequence[str]) -> None:
        """Make these rows quick to read in any order, until the next call. positions: [n] int64. AlloyError."""

    def ids(self) -> RowFile:
        """The column `id` as bytes, [n, 16] uint8, in a temporary file."""
        found = RowFile("the ids of the texts")
        for batch in self.batches(["id"], 10_000):
            found.append(np.frombuffer(bytes.fromhex("".join(batch["id"])), dtype=np.uint8).reshape(-1, 16))
        return found

    def _at(self, at: Array) -> Array:
        return at if self._positions is None else self._positions[at]
