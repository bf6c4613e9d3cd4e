"""Read large files of texts piece by piece, with several processes if there are cores: each checks and hashes the texts of some pieces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alloykit.data.file_formats import format_of
from alloykit.data.parquet_files import parquet_groups
from alloykit.data.piece_collector import PieceCollector
from alloykit.data.pieces import BYTES, ROWS, Piece, pieces_of
from alloykit.data.read_piece import PieceRows, rows_of_piece
from alloykit.data.texts_options import ColumnOptions
from alloykit.errors import AlloyError

FROM = 1 << 18  # rows; fewer are read before other processes have started
ROW = BYTES // ROWS  # bytes of a row, about
MAX_PROCESSES = 8  # processes


def processes_for(rows: int) -> int:
    """How many processes read so many rows: one per core, but not more than `OMP_NUM_THREADS` says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return 1 if rows < FROM else min(MAX_PROCESSES, cores, int(threads) if threads.isdecimal() else cores)


def read_in_pieces(files: Sequence[Path], options: ColumnOptions, columns: Mapping[str, str]) -> PieceCollector | None:
    """The rows of all files in order, as if each was read as a whole. None where that has to be done: few rows, a limit, files that have no pieces,
    and anything that went wrong, whose message it gives.

    columns: role → column.
    """
    if options.limit is not None:
        return None
    try:
        rows = sum(map(_rows_about, files))
        parts = [pieces_of(path, columns) for path in files] if rows >= FROM else [None]
        pieces = [piece for part in parts if part is not None for piece in part]
        if len(pieces) < 2 or any(part is None for part in parts):
            return None
        found = PieceCollector(options, dict(columns), pieces)
        count = min(processes_for(rows), len(pieces)) if sys.executable else 1
        for answer in _answers(pieces, options, columns, count) if count > 1 else _here(pieces, options, columns):
            found.add_piece(answer)
    except (AlloyError, OSError, ValueError, LookupError):
        return None
    return found


def _rows_about(path: Path) -> int:
    if not path.is_file():
        return 0
    return sum(parquet_groups(path)) if format_of(path) == ".parquet" else path.stat().st_size // ROW


def _here(pieces: Sequence[Piece], options: ColumnOptions, columns: Mapping[str, str]) -> Iterator[PieceRows]:
    for piece in pieces:
        found, file = rows_of_piece(piece, options, dict(columns))
        yield found
        del file  # its path is removed


def _answers(
    pieces: Sequence[Piece], options: ColumnOptions, columns: Mapping[str, str], count: int
) -> Iterator[PieceRows]:
    """Each piece, in order, read by another process. Its file is there until the next one is asked for."""
    with _readers(count, options, columns) as readers:
        for reader, piece in zip(readers, pieces, strict=False):
            reader.ask(piece)
        for n in range(len(pieces)):
            reader = readers[n % len(readers)]
            yield PieceRows(*reader.answer())
            if n + len(readers) < len(pieces):
                reader.ask(pieces[n + len(readers)])


@contextmanager
def _readers(count: int, options: ColumnOptions, columns: Mapping[str, str]) -> Iterator[list[_Reader]]:
    """Processes that read pieces. At the end they have ended, and their files are removed."""
    readers = [_Reader() for _ in range(count)]
    try:
        for reader in readers:
            reader.ask([options.model_dump(include=set(ColumnOptions.model_fields)), dict(columns)])
        yield readers
    finally:
        for reader in readers:
            reader.end()


class _Reader:
    """One process. ValueError or OSError where it has ended: it could not read a piece, or was killed."""

    def __init__(self) -> None:
        start = f"import sys; sys.path[:] = {sys.path!r}; from alloykit.data.read_piece import answer_requests; answer_requests()"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-c", start], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, request: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self) -> list[Any]:
        assert self._process.stdout is not None
        found: list[Any] = json.loads(self._process.stdout.readline())
        return found

    def end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._process.wait()
