"""Rows of stored answers: any columns of files of texts, also columns of lists and mappings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from alloykit.data.raw_tables import files_of
from alloykit.data.readers import format_of, read_errors, read_file


def answer_files(path: Path) -> list[Path]:
    """The file, or the files of a folder in the order of their names. AlloyError if there is none."""
    return files_of(path)


def answer_columns(path: Path) -> list[str]:
    """The columns of a file. Of a JSON file all keys are looked for. AlloyError."""
    return list(read_file(path, []).columns)


def answer_rows(files: Sequence[Path], columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The cells of these columns, row after row, file after file. AlloyError."""
    return chain.from_iterable(_rows(path, list(columns)) for path in files)


def _rows(path: Path, columns: list[str]) -> Iterator[Sequence[Any]]:
    if format_of(path) != ".parquet":
        yield from read_file(path, columns).rows
        return
    import pyarrow.parquet as pq

    with read_errors(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1000, columns=columns):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
