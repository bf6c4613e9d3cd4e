"""Collect what was read of pieces of files: a copy of all rows, or, of many texts, only what is needed to read them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.data.cursors import CHUNK
from alloykit.data.file_formats import read_errors
from alloykit.data.pieces import Piece
from alloykit.data.pieces_table import PiecesTable, RowsInPieces, StateOfFile, state_of_file
from alloykit.data.read_piece import PieceRows
from alloykit.data.table import SHOWN, RowCollector
from alloykit.data.text_table import TextTable
from alloykit.data.texts_options import ColumnOptions
from alloykit.temporary.copied import COPIED
from alloykit.temporary.row_file import RowFile


class PieceCollector(RowCollector):
    """The rows of pieces, one piece after another. If a copy of them would have more than `COPIED` bytes, they are not copied."""

    def __init__(self, options: ColumnOptions, columns: dict[str, str], pieces: Sequence[Piece]) -> None:
        """pieces: all that will be added, in order."""
        super().__init__(options, columns)
        self._pieces, self._starts, self._firsts = list(pieces), [0], list[int]()
        self._states: Mapping[str, StateOfFile] = {piece.path: state_of_file(Path(piece.path)) for piece in pieces}
        self._left_out, self._left_starts = RowFile("the texts"), [0]
        self._short = list[bool]()
        self._ids: RowFile | None = None  # of rows that are not copied

    def add_piece(self, found: PieceRows) -> None:
        """Add the rows of the next piece. AlloyError where the disk is full."""
        import pyarrow as pa

        sizes, kept = list[int](), np.zeros(found.rows, bool)
        with read_errors(Path(found.path)), pa.OSFile(found.path) as file:
            for batch in pa.ipc.open_stream(file):
                kept[batch.column("source_row").to_numpy()] = True
                sizes.append(batch.num_rows)
                self._add_batch(batch)
        usable = sum(sizes)
        # A batch has at most `MAX_BLOCK` characters and one more row. An unusable row may be long.
        self._short.append(usable == found.rows and all(size >= CHUNK for size in sizes[:-1]))
        if usable < found.rows:
            self._left_out.append(np.flatnonzero(~kept))
        self._left_starts.append(len(self._left_out))
        self._firsts.append(self.total)
        self._starts.append(self._starts[-1] + usable)
        for reason, (count, first) in found.unusable.items():
            before, rows = self.unusable.get(reason, (0, []))
            self.unusable[reason] = (before + count, [*rows, *(self.total + row for row in first)][:SHOWN])
        self.total += found.rows

    def table(self) -> TextTable:
        if self._ids is None:
            return super().table()
        return PiecesTable(
            RowsInPieces(
                pieces=self._pieces, starts=np.array(self._starts), firsts=np.array(self._firsts), left_out=self._left_out,
                left_starts=np.array(self._left_starts), short=np.array(self._short), ids=self._ids, options=self.options, columns=self.columns,
                states=self._states,
            )
        )  # fmt: skip

    def _add_batch(self, batch: Any) -> None:
        import pyarrow.compute as pc

        if self._ids is None and self.rows.written().size + batch.nbytes > COPIED:
            self._ids, self.rows = self.rows.table().ids(), type(self.rows)(self.rows.schema)
        if self._ids is not None:
            ids = bytes.fromhex("".join(batch.column("id").to_pylist()))
            self._ids.append(np.frombuffer(ids, np.uint8).reshape(-1, 16))
            return
        n = batch.schema.get_field_index("source_row")
        self.rows.write(batch.set_column(n, "source_row", pc.add(batch.column(n), self.total)))
