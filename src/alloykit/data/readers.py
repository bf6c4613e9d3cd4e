"""The file formats: csv, tsv, JSON lines, plain lines and parquet, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from alloykit.errors import AlloyError

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".parquet")


class Part(NamedTuple):
    """One file, list or data set: its columns, and its rows as values of the wanted columns."""

    where: str
    columns: list[str]
    rows: Iterable[Sequence[Any]]
    class_names: Mapping[str, list[str]] = {}  # of ClassLabel columns


def format_of(path: Path) -> str:
    name = Path(path.name.lower())
    # Parquet compresses its own columns; a gzipped one could not be read in pieces.
    inner = Path(name.stem).suffix
    return inner if name.suffix == ".gz" and inner != ".parquet" else name.suffix


def file_part(path: Path, wanted: list[str]) -> Part:
    where, kind = f"'{path}'", format_of(path)
    if kind == ".parquet":
        import datasets
        import pyarrow.parquet as pq

        with reading(path):
            file = pq.ParquetFile(path)
            schema = file.schema_arrow
            features = datasets.Features.from_arrow_schema(schema) if schema.metadata else {}
        names = {name: list(f.names) for name, f in features.items() if hasattr(f, "names")}
        return Part(where, schema.names, _parquet_rows(path, file, wanted), names)
    if kind in (".csv", ".tsv"):
        lines = _csv_lines(path, "\t" if kind == ".tsv" else ",")
        header = [name.strip() for name in next(lines, [])]
        return Part(where, header, pick((dict(zip(header, c, strict=True)) for c in lines), wanted))
    if kind in (".jsonl", ".ndjson", ".json"):
        return Part(where, keys_of(_json_records(path), wanted), pick(_json_records(path), wanted))
    if kind == ".txt":
        return Part(where, ["text"], _txt_rows(path))
    raise AlloyError(expected=f"a file that ends in {', '.join(FORMATS)} (or .gz after it)", got=where)


def pick(records: Iterable[Mapping[str, Any]], wanted: list[str]) -> Iterator[Sequence[Any]]:
    return ([record.get(name) for name in wanted] for record in records)


def keys_of(records: Iterable[Mapping[str, Any]], wanted: Sequence[str] = ()) -> list[str]:
    """The keys of all records in order; it stops reading once all the wanted ones were seen."""
    seen: dict[str, None] = {}
    for record in records:
        seen.update(dict.fromkeys(record))
        if wanted and seen.keys() >= set(wanted):
            break
    return list(seen)


def _parquet_rows(path: Path, file: Any, wanted: list[str]) -> Iterator[Sequence[Any]]:
    with reading(path):
        for batch in file.iter_batches(batch_size=1000, columns=wanted):
            yield from zip(*(batch.column(name).to_pylist() for name in wanted), strict=True)


def _csv_lines(path: Path, delimiter: str) -> Iterator[list[str]]:
    # The module's own limit of 131,072 characters per cell is too small for documents.
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    with reading(path), _open(path, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        width = None
        try:
            for cells in reader:
                width = width or len(cells)
                if cells and len(cells) != width:
                    raise csv.Error(f"{len(cells)} cells where the first line has {width}")
                if cells:
                    yield cells
        except csv.Error as error:
            raise AlloyError(
                expected=f"well-formed {'tsv' if delimiter == chr(9) else 'csv'} in '{path}'",
                got=f"'{error}' at line {reader.line_num}",
                hint='Put texts that contain separators, quotes or line breaks in quotes, and write " as "".',
            ) from error


def _json_records(path: Path) -> Iterator[dict[str, Any]]:
    with reading(path), _open(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                record = str(error)
            if not isinstance(record, dict):
                got = f"{record if isinstance(record, str) else type(record).__name__} at line {number}"
                hint = "Write one object per line. `jq -c '.[]'` turns a list into that."
                raise AlloyError(expected=f"one JSON object in each line of '{path}'", got=got, hint=hint)
            yield record


def _txt_rows(path: Path) -> Iterator[Sequence[Any]]:
    with reading(path), _open(path) as file:
        yield from ((line.removesuffix("\n"),) for line in file)


def _open(path: Path, newline: str | None = None) -> IO[str]:
    # utf-8-sig: Excel puts a byte-order mark before the first column's name.
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise AlloyError(
            expected=f"UTF-8 text in '{path}'",
            got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
            hint="Save it as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
        ) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:  # Arrow's errors are ValueErrors
        raise AlloyError(expected=f"a readable file '{path}'", got=f"{type(error).__name__}: {error}") from error
