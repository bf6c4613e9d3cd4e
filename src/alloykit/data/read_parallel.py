"""Read large Parquet files with several processes: each checks and hashes the texts of some row groups."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from alloykit.data.readers import format_of, read_errors
from alloykit.data.table import SHOWN, RowCollector
from alloykit.data.texts_options import ColumnOptions
from alloykit.errors import AlloyError

FROM = 1 << 18  # rows; fewer are read before other processes have started
MAX_PROCESSES = 8  # processes
PIECE = 1 << 17  # rows, or one row group if that has more


class Piece(NamedTuple):
    """Row groups of a file. `groups`: from which to before which. `first`: the number of their first row, counted over all files."""

    path: str
    groups: tuple[int, int]
    first: int


def processes_for(rows: int) -> int:
    """How many processes read so many rows: one per core, but not more than `OMP_NUM_THREADS` says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return 1 if rows < FROM else min(MAX_PROCESSES, cores, int(threads) if threads.isdecimal() else cores)


def read_in_parallel(
    files: Sequence[Path], options: ColumnOptions, columns: Mapping[str, str], *, processes: int | None = None
) -> RowCollector | None:
    """The rows of all files in order, as one process reads them. None where one process has to: other formats, few rows, one core, and
    anything that went wrong, whose message it gives.

    columns: role → column. processes: how many; by default `processes_for`.
    """
    if any(format_of(path) != ".parquet" for path in files) or options.limit is not None or not sys.executable:
        return None
    try:
        pieces, rows = _pieces(files)
        count = min(processes or processes_for(rows), len(pieces))
        if count < 2:
            return None
        found = RowCollector(options, dict(columns))
        with _readers(count, options, columns) as readers:
            for answer in _answers(readers, pieces):
                found.rows.append(Path(answer["path"]), answer["bytes"])
                _add_unusable(found.unusable, answer["unusable"])
    except (AlloyError, OSError, ValueError, LookupError):
        return None
    found.total = rows
    return found


def _pieces(files: Sequence[Path]) -> tuple[list[Piece], int]:
    """The pieces of all files, and how many rows they have."""
    import pyarrow.parquet as pq

    pieces, first = list[Piece](), 0
    for path in files:
        with read_errors(path), pq.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        begun, rows = 0, 0
        for n, size in enumerate(sizes):
            rows += size
            if rows >= PIECE or n + 1 == len(sizes):
                pieces.append(Piece(str(path), (begun, n + 1), first))
                begun, rows, first = n + 1, 0, first + rows
    return pieces, first


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

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._process.wait()


def _answers(readers: Sequence[_Reader], pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    """The answer to each piece, in order. Its file is there until the next one is asked for."""
    for reader, piece in zip(readers, pieces, strict=False):
        reader.ask(piece)
    for n in range(len(pieces)):
        reader = readers[n % len(readers)]
        yield reader.answer()
        if n + len(readers) < len(pieces):
            reader.ask(pieces[n + len(readers)])


def _add_unusable(found: dict[str, tuple[int, list[int]]], more: Mapping[str, Sequence[Any]]) -> None:
    for reason, (count, first) in more.items():
        before, rows = found.get(reason, (0, []))
        found[reason] = (before + count, [*rows, *first][:SHOWN])
