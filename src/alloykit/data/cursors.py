"""Read some rows of a piece of a file, going on from where the last read ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.data.file_formats import format_of, read_errors
from alloykit.data.limits import cells_of
from alloykit.data.parquet_files import OpenParquet
from alloykit.data.pieces import Piece, read_piece
from alloykit.temporary.rows_at import Array

CHUNK = 4096  # rows that are read at once
_Cells = list[Sequence[Any]]


class Cursor(ABC):
    """Reads on from the rows that were asked for last. If earlier ones are asked for, it reads from the beginning."""

    def __init__(self, piece: Piece, columns: Sequence[str]) -> None:
        self.piece, self.columns = piece, list(columns)

    @abstractmethod
    def take(self, rows: Array) -> _Cells:
        """The cells of rows of the piece, ascending, each once, [n] int64. AlloyError where the file cannot be read."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class LinesCursor(Cursor):
    """Of a piece of lines."""

    def __init__(self, piece: Piece, columns: Sequence[str]) -> None:
        super().__init__(piece, columns)
        self._rows, self._last, self._next = self._all(), list[Sequence[Any]](), 0

    def take(self, rows: Array) -> _Cells:
        if rows[0] < self._next - len(self._last):
            self._rows, self._last, self._next = self._all(), [], 0
        found: _Cells = []
        for row in rows.tolist():
            while row >= self._next:
                self._last = list(islice(self._rows, CHUNK))
                if not self._last:
                    raise IndexError(row)
                self._next += len(self._last)
            found.append(self._last[row - self._next + len(self._last)])
        return found

    def close(self) -> None:
        self._rows, self._last, self._next = self._all(), [], 0

    def _all(self) -> Iterator[Sequence[Any]]:
        yield from read_piece(self.piece, self.columns).rows


class ParquetCursor(Cursor):
    """Of a piece of Parquet. Row groups without rows that are asked for are not read."""

    def __init__(self, piece: Piece, columns: Sequence[str], short: Collection[str]) -> None:
        super().__init__(piece, columns)
        self._file = OpenParquet(Path(piece.path), self.columns, short=short)
        sizes = [self._file.rows(group) for group in range(piece.start, piece.end)]
        self._starts = np.cumsum([0, *sizes])
        self._group, self._next = -1, 0

    def take(self, rows: Array) -> _Cells:
        found: _Cells = []
        groups = np.searchsorted(self._starts[1:], rows, side="right")
        for group in np.unique(groups).tolist():
            found += self._of_group(group, rows[groups == group] - self._starts[group])
        return found

    def close(self) -> None:
        self._file.close()

    def _of_group(self, group: int, rows: Array) -> _Cells:
        if group != self._group or rows[0] < self._next - self._batch.num_rows:
            self._group, self._next = group, 0
            self._batches = self._file.batches(self.piece.start + group, CHUNK)
            self._batch: Any = next(self._batches)
            self._next = self._batch.num_rows
        found: _Cells = []
        while len(rows):
            mine = rows[rows < self._next]
            if len(mine):
                found += self._cells(mine - self._next + self._batch.num_rows)
                rows = rows[len(mine) :]
            if len(rows):
                self._batch = next(self._batches)
                self._next += self._batch.num_rows
        return found

    def _cells(self, places: Array) -> _Cells:
        picked = self._batch if len(places) == self._batch.num_rows else self._batch.take(places)
        where = f"'{self.piece.path}'"
        with read_errors(Path(self.piece.path)):
            return list(zip(*(cells_of(picked.column(name), where, 0) for name in self.columns), strict=True))


def cursor_for(piece: Piece, columns: Sequence[str], short: Collection[str]) -> Cursor:
    """A cursor at the beginning of a piece. short: columns of which any `CHUNK` rows fit into memory. AlloyError where the file cannot be read."""
    if format_of(Path(piece.path)) == ".parquet":
        return ParquetCursor(piece, columns, short)
    return LinesCursor(piece, columns)
