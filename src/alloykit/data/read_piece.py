"""Read a piece of a file into a temporary file: in this process, or in one that does it for another (read_in_pieces.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from alloykit.data.pieces import Piece, read_piece
from alloykit.data.table import RowCollector
from alloykit.data.texts_options import ColumnOptions
from alloykit.temporary.mapped_file import MappedFile


class PieceRows(NamedTuple):
    """What was read of a piece: an Arrow stream of its usable rows, how many rows it has, and the others by reason. Rows are counted from the
    beginning of the piece."""

    path: str
    rows: int
    unusable: Mapping[str, tuple[int, list[int]]]


def rows_of_piece(piece: Piece, options: ColumnOptions, columns: dict[str, str]) -> tuple[PieceRows, MappedFile]:
    """Read a piece. Its rows are there as long as the file object. columns: role → column. AlloyError, whose line and row numbers are those in the piece."""
    collector = RowCollector(options, columns)
    table = read_piece(piece, list(columns.values()))
    for row in table.rows:
        collector.add(table, row)
    file = collector.rows.written()
    return PieceRows(str(file.path), collector.total, collector.unusable), file


def answer_requests() -> None:
    """One request per line of the input, one answer per line of the output, until the input ends. The last piece's file is removed at the next request."""
    settings, columns = json.loads(next(sys.stdin))
    options, kept = ColumnOptions.model_validate(settings), list[Any]()
    for line in sys.stdin:
        kept.clear()
        answer, file = rows_of_piece(Piece(*json.loads(line)), options, columns)
        kept.append(file)
        print(json.dumps(answer), flush=True)
