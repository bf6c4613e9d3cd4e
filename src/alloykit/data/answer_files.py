"""Rows of stored answers: any columns of files of texts, also columns of lists and mappings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from alloykit.data.file_formats import format_of
from alloykit.data.parquet_files import parquet_rows
from alloykit.data.raw_tables import files_of
from alloykit.data.readers import read_file
from alloykit.errors import AlloyError
from alloykit.names import unknown_name


def answer_files(path: Path) -> list[Path]:
    """The file, or the files of a folder in the order of their names. AlloyError if there is none, and for pipes and devices: the
    files are read several times."""
    found = files_of(path, [])
    for each in found:
        if not each.is_file():
            raise AlloyError(
                expected=f"a file of answers '{each}'",
                got="a pipe or a device",
                hint="Write its content to a file first.",
            )
    return found


def answer_columns(path: Path) -> list[str]:
    """The columns of a file. Of a JSON file all keys are looked for. AlloyError."""
    return list(read_file(path, []).columns)


def answer_rows(files: Sequence[Path], columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The cells of these columns, row after row, file after file. AlloyError."""
    return chain.from_iterable(_rows(path, list(columns)) for path in files)


def _rows(path: Path, columns: list[str]) -> Iterator[Sequence[Any]]:
    table, kind = read_file(path, columns), format_of(path)
    if kind in (".csv", ".tsv", ".parquet"):  # a JSON object may lack what it has no value for
        for name in columns:
            if table.columns.count(name) != 1:
                raise unknown_name(f"one column of this name in {table.where}", name, table.columns)
    yield from parquet_rows(path, columns, nested=columns) if kind == ".parquet" else table.rows
