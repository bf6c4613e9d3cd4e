"""Pieces of files of texts that can be read on their own: row groups of Parquet, ranges of bytes of the formats that have lines."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from alloykit.data.csv_files import csv_cells, csv_rows, header_of
from alloykit.data.file_formats import format_of, read_errors
from alloykit.data.json_lines import json_records, select_columns
from alloykit.data.limits import MAX_LINE
from alloykit.data.parquet_files import parquet_groups
from alloykit.data.raw_tables import check_columns
from alloykit.data.readers import RawTable, read_file, txt_rows

ROWS = 1 << 17  # of a piece of Parquet, or one row group if that has more
BYTES = 1 << 23  # of a piece of lines, and what is missing to the end of the row
AHEAD = 1 << 20  # bytes that are read at once to find the end of a row


class Piece(NamedTuple):
    """A part of a file. `start`, `end`: from which to before which row group or byte. `header`: the columns of a file with a header line."""

    path: str
    start: int
    end: int
    header: list[str]


def pieces_of(path: Path, columns: Mapping[str, str]) -> list[Piece] | None:
    """The pieces of a file in order, which together have all its rows. None for a file that can only be read as a whole. AlloyError.

    columns: role → column. The file must have them.

    The pieces of CSV begin where the number of quotes before is even. That may be wrong if a cell without quotes around it has quotes in it. Then
    some piece does not end with the end of a row, and reading it is an error."""
    if path.suffix.lower() == ".gz" or not path.is_file():  # a pipe can be read once
        return None
    table, kind = read_file(path, list(columns.values())), format_of(path)
    check_columns(table, columns)
    if kind == ".parquet":
        return [Piece(str(path), start, end, []) for start, end in _row_groups(path)]
    header = table.columns if kind in (".csv", ".tsv") else []
    with read_errors(path):
        borders = _borders(path, quoted=bool(header))
    return None if borders is None else [Piece(str(path), *pair, header) for pair in itertools.pairwise(borders)]


def read_piece(piece: Piece, wanted: Sequence[str]) -> RawTable:
    """The rows of a piece. Lines and rows in messages are counted from its beginning. AlloyError."""
    path, kind = Path(piece.path), format_of(Path(piece.path))
    if kind == ".parquet":
        return read_file(path, list(wanted), groups=range(piece.start, piece.end))
    return RawTable(f"'{path}'", piece.header or list(wanted), _line_rows(piece, path, kind, wanted))


def _line_rows(piece: Piece, path: Path, kind: str, wanted: Sequence[str]) -> Iterator[Sequence[object]]:
    with read_errors(path), path.open("rb") as file:
        file.seek(piece.start)
        content = io.BytesIO(file.read(piece.end - piece.start))
    is_csv = kind in (".csv", ".tsv")
    lines = io.TextIOWrapper(content, "utf-8" if piece.start else "utf-8-sig", newline="" if is_csv else None)
    if is_csv:
        rows = csv_cells(lines, path, len(piece.header))
        if not piece.start:
            header_of(rows)
        yield from csv_rows(rows, piece.header, wanted)
    else:
        yield from txt_rows(lines, path) if kind == ".txt" else select_columns(json_records(lines, path), wanted)


def _row_groups(path: Path) -> Iterator[tuple[int, int]]:
    begun, rows, sizes = 0, 0, parquet_groups(path)
    for n, size in enumerate(sizes):
        rows += size
        if rows >= ROWS or n + 1 == len(sizes):
            yield begun, n + 1
            begun, rows = n + 1, 0


def _borders(path: Path, *, quoted: bool) -> list[int] | None:
    """Where pieces begin, and the end of the file. None if a row is longer than any may be."""
    size, borders, odd = path.stat().st_size, [0], False
    with path.open("rb") as file:
        while borders[-1] + BYTES < size:
            if quoted:  # from one border to the next, because a row is not inside quotes at a border
                odd = file.read(BYTES).count(b'"') % 2 == 1
            place = borders[-1] + BYTES
            file.seek(place)
            while True:
                piece = file.read(AHEAD)
                found = _row_end(piece, odd) if quoted else piece.find(b"\n")
                if found >= 0 or not piece:
                    break
                odd ^= quoted and piece.count(b'"') % 2 == 1
                place += len(piece)
                if place - borders[-1] > BYTES + 4 * MAX_LINE:
                    return None
            borders.append(place + found + 1 if piece else size)
            file.seek(borders[-1])
    return borders if borders[-1] == size else [*borders, size]


def _row_end(piece: bytes, odd: bool) -> int:
    """The first line break outside quotes, −1 if there is none. odd: whether the piece begins inside quotes."""
    at = 0
    while True:
        found = piece.find(b"\n", at)
        if found < 0:
            return -1
        odd ^= piece.count(b'"', at, found) % 2 == 1
        if not odd:
            return found
        at = found + 1
