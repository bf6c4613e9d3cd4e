"""Open a file of any format: csv, tsv, JSON lines and plain lines, gzipped or not, and Parquet."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import tee
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from alloykit.data.csv_files import csv_cells, csv_rows, header_of, refuse_other_separator
from alloykit.data.file_formats import FORMATS, format_of, read_errors
from alloykit.data.first_bytes import refuse_other_kinds
from alloykit.data.json_lines import all_keys, json_records, select_columns
from alloykit.data.limits import MAX_TEXT, lines_of
from alloykit.data.parquet_files import class_names, parquet_rows
from alloykit.errors import AlloyError

T = TypeVar("T")


class RawTable(NamedTuple):
    """One file, list or data set before its rows are checked: its columns, and its rows as values of the wanted columns."""

    where: str
    columns: list[str]
    rows: Iterable[Sequence[Any]]
    class_names: Mapping[str, list[str]] = {}  # of ClassLabel columns


def read_file(path: Path, wanted: list[str], *, nested: Collection[str] = (), groups: range | None = None) -> RawTable:
    """Open one file. wanted: the columns to read. nested: those that may hold lists, maps and structs. groups: only these row groups of a Parquet file. AlloyError for an unknown ending, and for a damaged file when it is read."""
    where, kind = f"'{path}'", format_of(path)
    if kind == ".parquet":
        import pyarrow.parquet as pq

        if path.exists() and not path.is_file():  # Parquet is read from its end
            raise AlloyError(expected=f"a Parquet file {where}", got="a folder, a pipe or a device")
        with read_errors(path):
            schema = pq.read_schema(path)
        return RawTable(
            where,
            schema.names,
            parquet_rows(path, wanted, nested=nested, groups=groups),
            class_names(schema, wanted, where),
        )
    if kind in (".csv", ".tsv"):
        rows = _opened(path, csv_cells, newline="")
        header = header_of(rows)
        refuse_other_separator(header, kind, where)
        return RawTable(where, header, csv_rows(rows, header, wanted))
    if kind in (".jsonl", ".ndjson", ".json"):
        records = _opened(path, json_records)
        # A pipe can be read once: the records in which the keys are looked for are kept.
        searched, records = (_opened(path, json_records), records) if path.is_file() else tee(records)
        return RawTable(where, all_keys(searched, wanted), select_columns(records, wanted))
    if kind == ".txt":
        return RawTable(where, ["text"], _opened(path, txt_rows))
    packed = ", ".join(name for name in FORMATS if name != ".parquet")
    raise AlloyError(expected=f"a file that ends in {packed} (also with .gz after it) or .parquet", got=where)


def txt_rows(file: IO[str], path: Path) -> Iterator[Sequence[Any]]:
    """Each line without its end. AlloyError for one over the limit."""
    with read_errors(path):
        yield from ((line.removesuffix("\n"),) for line in lines_of(file, f"'{path}'", MAX_TEXT))


def _opened(path: Path, read: Callable[[IO[str], Path], Iterator[T]], newline: str | None = None) -> Iterator[T]:
    with read_errors(path), _open(path, newline) as file:
        yield from read(file, path)


def _open(path: Path, newline: str | None = None) -> IO[str]:
    # utf-8-sig: Excel puts a byte-order mark before the first column's name.
    file = _binary(path)
    try:
        # Peeked, because a pipe cannot be read twice.
        refuse_other_kinds(file.peek(64), f"in '{path}'", unpacked=path.suffix.lower() == ".gz")
    except BaseException:
        file.close()
        raise
    return io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)


def _binary(path: Path) -> Any:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")
