"""A table of texts that are not copied: its rows are read from the files of texts when they are asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Self

import numpy as np

from alloykit.data.cursors import Cursor, cursor_for
from alloykit.data.disk import DiskTable, DiskWriter
from alloykit.data.file_formats import read_errors
from alloykit.data.pieces import Piece
from alloykit.data.readers import read_file
from alloykit.data.table import label_of
from alloykit.data.text_table import BATCH, TextTable
from alloykit.data.texts_options import ColumnOptions
from alloykit.errors import AlloyError
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array

OPEN = 4  # files that are read on from where the last read ended
StateOfFile = tuple[int, int]
"""Size in bytes, and time of the last change in nanoseconds."""


def state_of_file(path: Path) -> StateOfFile:
    """AlloyError where there is no such file."""
    with read_errors(path):
        found = path.stat()
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class RowsInPieces:
    """Where the usable rows of files of texts are.

    pieces: of all files, in order. starts: how many usable rows are before each piece, and in all, [pieces + 1]. firsts: how many rows of
    the input are before each piece, [pieces]. left_out: the unusable rows of each piece, counted in it, ascending; they begin at `left_starts`,
    [pieces + 1]. short: whether any `CHUNK` rows of a piece have short texts, [pieces] bool. ids: of the usable rows, [n, 16] uint8. columns: role → column. states: of each file when it was read first.
    """

    pieces: Sequence[Piece]
    starts: Array
    firsts: Array
    left_out: RowFile
    left_starts: Array
    short: Array
    ids: RowFile
    options: ColumnOptions
    columns: Mapping[str, str]
    states: Mapping[str, StateOfFile]


class PiecesTable(TextTable):
    """A `TextTable` of `RowsInPieces`. Memory holds some numbers per piece. It is quick to read in order of the files, or some rows after `hold`."""

    def __init__(self, where: RowsInPieces, positions: Array | None = None, reader: PieceReader | None = None) -> None:
        """reader: one of the same rows that has files open, if there is one."""
        super().__init__(positions)
        self._where, self._reader = where, reader or PieceReader(where)

    def __reduce__(self) -> Any:
        return PiecesTable, (self._where, self._positions)

    @property
    def column_names(self) -> list[str]:
        return ["id", *self._where.columns, "source_row"]

    def ids(self) -> RowFile:
        return self._where.ids if self._positions is None else super().ids()

    def hold(self, positions: Array, columns: Sequence[str]) -> None:
        self._reader.hold(self._at(positions), columns)

    def _rows(self) -> int:
        return int(self._where.starts[-1])

    def _read(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        return self._reader.read(at, names)

    def _selected(self, positions: Array) -> Self:
        return type(self)(self._where, positions, self._reader)


@dataclass
class PieceReader:
    """Reads rows in pieces. Several threads may use it."""

    where: RowsInPieces
    _cursors: OrderedDict[tuple[str, ...], Cursor] = field(default_factory=OrderedDict)
    _held: tuple[Array, DiskTable] | None = None
    _lock: Any = field(default_factory=RLock)

    def __post_init__(self) -> None:
        self._class_names = cache(self._read_class_names)

    def read(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        """These columns of the rows at these positions, [n] int64. AlloyError where a file cannot be read, or has changed."""
        found = dict[str, list[Any]]()
        if "id" in names:
            text = self.where.ids.read(at).tobytes().hex()
            found["id"] = [text[n : n + 32] for n in range(0, len(text), 32)]
        if "source_row" in names:
            found["source_row"] = self._rows_of_input(at).tolist()
        if cells := [name for name in names if name not in found]:
            with self._lock:
                found |= self._cells(at, cells)
        return {name: found[name] for name in names}

    def hold(self, at: Array, names: Sequence[str]) -> None:
        """Copy these columns of these rows into a temporary file. The last rows that were held are no longer."""
        import pyarrow as pa

        with self._lock:
            self._held = None
            positions, writer = np.unique(at), DiskWriter(pa.schema([(name, pa.string()) for name in names]))
            for start in range(0, len(positions), BATCH):
                rows = self._from_files(positions[start : start + BATCH], names)
                for row in zip(*(rows[name] for name in names), strict=True):
                    writer.add(row)
            if len(positions):
                self._held = positions, writer.table()

    def _cells(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        if self._held is None or not set(names) <= set(self._held[1].column_names):
            return self._from_files(at, names)
        positions, table = self._held
        where = np.minimum(np.searchsorted(positions, at), len(positions) - 1)
        if (held := positions[where] == at).all():
            return table.take(where, names)
        found: dict[str, list[Any]] = {name: [None] * len(at) for name in names}
        parts = (table.take(where[held], names), held), (self._from_files(at[~held], names), ~held)
        for rows, mask in parts:
            _put(found, rows, np.flatnonzero(mask))
        return found

    def _from_files(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {name: [None] * len(at) for name in names}
        for n, mine, rows in self._by_piece(at):
            wanted, again = np.unique(rows, return_inverse=True)
            cells = self._cursor(n, names).take(wanted)
            columns = {name: [cells[i][k] for i in again.tolist()] for k, name in enumerate(names)}
            if "label" in columns:
                class_names = self._class_names(self.where.pieces[n].path)
                where = f"'{self.where.pieces[n].path}'"
                columns["label"] = [label_of(v, self.where.options, class_names, where) for v in columns["label"]]
            _put(found, columns, mine)
        return found

    def _rows_of_input(self, at: Array) -> Array:
        found = np.empty(len(at), np.int64)
        for n, mine, rows in self._by_piece(at):
            found[mine] = rows + self.where.firsts[n]
        return found

    def _by_piece(self, at: Array) -> Any:
        """The number of each piece with some of the positions, ascending; which of them are in it; and their rows in it."""
        starts = self.where.starts
        piece = np.searchsorted(starts[1:], at, side="right")
        order = np.argsort(piece, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(piece[order])) + 1):
            n = int(piece[mine[0]])
            rows = at[mine] - starts[n]
            begin, end = (int(self.where.left_starts[k]) for k in (n, n + 1))
            if begin < end:
                left = self.where.left_out.between(begin, end)
                rows = rows + np.searchsorted(left - np.arange(len(left)), rows, side="right")
            yield n, mine, rows

    def _cursor(self, n: int, names: Sequence[str]) -> Cursor:
        piece, columns = self.where.pieces[n], [self.where.columns[name] for name in names]
        key = (piece.path, str(piece.start), *columns)
        if key not in self._cursors:
            if state_of_file(path := Path(piece.path)) != self.where.states[piece.path]:
                raise AlloyError(
                    expected=f"'{path}' as it was when it was read first",
                    got="another size or time of change",
                    hint="Start the command again, and leave the file as it is while the command runs.",
                )
            texts = [self.where.columns[name] for name in names if name in ("text", "text_pair")]
            self._cursors[key] = cursor_for(piece, columns, texts if self.where.short[n] else ())
            if len(self._cursors) > OPEN:
                self._cursors.popitem(last=False)[1].close()
        self._cursors.move_to_end(key)
        return self._cursors[key]

    def _read_class_names(self, path: str) -> list[str]:
        label = self.where.columns["label"]
        return read_file(Path(path), [label]).class_names.get(label, []) if path.endswith(".parquet") else []


def _put(found: dict[str, list[Any]], columns: Mapping[str, list[Any]], places: Array) -> None:
    for name, values in columns.items():
        for place, value in zip(places.tolist(), values, strict=True):
            found[name][place] = value
