"""Read the file formats: csv, tsv, JSON lines, plain lines and parquet, gzipped or not."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import tee
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from alloykit.data.first_bytes import refuse_other_kinds
from alloykit.data.limits import MAX_ENTRIES, MAX_LINE, MAX_TEXT, cells_of, lines_of, too_long, too_many
from alloykit.errors import AlloyError
from alloykit.names import short

T = TypeVar("T")
FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".parquet")


JSON_LINES = (
    "Write one object per line, also in a file that ends in .json: `df.to_json(FILE, orient='records', lines=True)` in pandas. "
    "`jq -c '.[]'` turns a list into that."
)
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}


class RawTable(NamedTuple):
    """One file, list or data set before its rows are checked: its columns, and its rows as values of the wanted columns."""

    where: str
    columns: list[str]
    rows: Iterable[Sequence[Any]]
    class_names: Mapping[str, list[str]] = {}  # of ClassLabel columns


def format_of(path: Path) -> str:
    """The ending that names the format, without ".gz"."""
    name = Path(path.name.lower())
    # A gzipped parquet file could not be read in pieces; parquet compresses its own columns.
    inner = Path(name.stem).suffix
    return inner if name.suffix == ".gz" and inner != ".parquet" else name.suffix


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
            _class_names(schema, wanted, where),
        )
    if kind in (".csv", ".tsv"):
        rows = _opened(path, csv_cells, newline="")
        header = header_of(rows)
        _refuse_other_separator(header, kind, where)
        return RawTable(where, header, csv_rows(rows, header, wanted))
    if kind in (".jsonl", ".ndjson", ".json"):
        records = _opened(path, json_records)
        # A pipe can be read once: the records in which the keys are looked for are kept.
        searched, records = (_opened(path, json_records), records) if path.is_file() else tee(records)
        return RawTable(where, all_keys(searched, wanted), select_columns(records, wanted))
    if kind == ".txt":
        return RawTable(where, ["text"], _opened(path, txt_rows))
    raise AlloyError(expected=f"a file that ends in {', '.join(FORMATS)} (or .gz after it)", got=where)


def select_columns(records: Iterable[Mapping[str, Any]], wanted: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The wanted values of each record, None where it has none."""
    return ([record.get(name) for name in wanted] for record in records)


def all_keys(records: Iterable[Mapping[str, Any]], wanted: Sequence[str] = ()) -> list[str]:
    """The keys of all records in order. Reading stops as soon as all wanted keys were seen."""
    seen: dict[str, None] = {}
    for record in records:
        seen.update(dict.fromkeys(record))
        if wanted and seen.keys() >= set(wanted):
            break
    return list(seen)


def parquet_rows(
    path: Path, wanted: Sequence[str], *, nested: Collection[str] = (), groups: range | None = None
) -> Iterator[Sequence[Any]]:
    """The cells of these columns, row after row; one row group is read after another. nested: columns that may hold lists, maps and structs. groups:
    only these row groups. AlloyError for a damaged file, and for
    cells over the limits."""
    first = 0
    with read_errors(path), closing(OpenParquet(path, wanted)) as file:
        for group in range(file.groups) if groups is None else groups:
            for batch in file.batches(group, 1000):
                columns = (cells_of(batch.column(name), f"'{path}'", first, nested=name in nested) for name in wanted)
                yield from zip(*columns, strict=True)
                first += batch.num_rows


class OpenParquet:
    """Some columns of a Parquet file. AlloyError for a damaged file, and for cells over the limits."""

    def __init__(self, path: Path, wanted: Sequence[str], *, short: Collection[str] = ()) -> None:
        """short: columns whose cells are known to be short."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self.wanted = path, list(wanted)
        with read_errors(path):
            schema = pq.read_schema(path)
            # Read as dictionaries: a small file may refer to one long string in many rows, and each row would be a copy of it. This is slow where the
            # strings differ.
            kinds = pa.string(), pa.large_string()
            strings = [name for name in wanted if name not in short and schema.field(name).type in kinds]
            self._file = pq.ParquetFile(path, read_dictionary=strings)
            _refuse_large_cells(self._file.metadata, wanted, f"'{path}'")

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return int(self._file.num_row_groups)

    def rows(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self._file.metadata.row_group(group).num_rows)

    def batches(self, group: int, size: int) -> Iterator[Any]:
        """A row group as record batches of at most `size` rows. Of several groups at once, Arrow keeps what it has read."""
        with read_errors(self.path):
            yield from self._file.iter_batches(batch_size=size, columns=self.wanted, row_groups=[group])

    def close(self) -> None:
        self._file.close()


def _refuse_large_cells(metadata: Any, wanted: Sequence[str], where: str) -> None:
    """AlloyError if the mean size of a column's cells is over the limit. Nothing is decompressed before."""
    for n in range(metadata.num_row_groups):
        group = metadata.row_group(n)
        for column in (group.column(k) for k in range(group.num_columns)):
            room = (4 * MAX_TEXT + 100) * max(group.num_rows, 1)  # bytes; UTF-8 takes at most 4 for a character
            name = column.path_in_schema.split(".")[0] if column.path_in_schema not in wanted else column.path_in_schema
            if name in wanted and column.total_uncompressed_size > room:
                raise too_long("text", f"column '{short(name)}', row group {n} of {where}")
            if name in wanted and column.num_values > MAX_ENTRIES * max(group.num_rows, 1):
                raise too_many(f"column '{short(name)}', row group {n} of {where}")


def _class_names(schema: Any, wanted: list[str], where: str) -> dict[str, list[str]]:
    """Names of labels that are stored as positions. `datasets` writes them into the metadata of a Parquet file."""
    stored = (schema.metadata or {}).get(b"huggingface")
    if stored is None:
        return {}
    names = {}
    try:
        features = json.loads(stored).get("info", {}).get("features") or {}
        for name in wanted:
            feature = features.get(name)
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
                names[name] = TypeAdapter(list[str]).validate_python(feature["names"], strict=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AlloyError(
            expected=f"the names of the labels in the `huggingface` metadata of {where}",
            got=f"metadata that is damaged ({type(error).__name__})",
            hint="Write the file again, or leave the metadata out: `table.replace_schema_metadata(None)` in pyarrow.",
        ) from error
    return names


def header_of(rows: Iterator[list[str]]) -> list[str]:
    """The columns of a CSV file, from its first row."""
    return [name.strip() for name in next(rows, [])]


def _refuse_other_separator(header: Sequence[str], kind: str, where: str) -> None:
    """AlloyError for a file whose first line has the separators of another format, as Excel writes them in many countries."""
    if header and header[0].lower().startswith("sep="):
        raise AlloyError(
            expected=f"the names of the columns in the first line of {where}",
            got=f"'{short(header[0])}', which only Excel understands",
            hint="Delete this line. Columns are separated by commas; by tabs in a file that ends in .tsv.",
        )
    right = "\t" if kind == ".tsv" else ","
    found = [sign for sign in SEPARATORS if sign != right and len(header) == 1 and sign in header[0]]
    other = next((sign for sign in found if sum(map(bool, header[0].split(sign))) > 1), None)
    if other is not None:
        raise _other_separator(header[0], right, other, where)


def _refuse_quoted_separator(line: str, path: Path) -> None:
    """The same for a first line whose names are in quotes. The csv module does not read such a line."""
    right = "\t" if format_of(path) == ".tsv" else ","
    for sign in SEPARATORS:
        if sign != right and (f'"{sign}' in line or f'{sign}"' in line):
            raise _other_separator(line.strip(), right, sign, f"'{path}'")


def _other_separator(line: str, right: str, other: str, where: str) -> AlloyError:
    end = {"\t": ".tsv", ",": ".csv"}.get(other)
    convert = f"`pandas.read_csv(FILE, sep={other!r}).to_csv(NEW_FILE, index=False)` writes such a .csv."
    return AlloyError(
        expected=f"{SEPARATORS[right]} between the columns of {where}",
        got=f"{SEPARATORS[other]}: '{short(line)}'",
        hint=(f"Let its name end in {end}." if end else f"Save it with commas, or with tabs as .tsv: {convert}")
        + " If the first line is a text, put a header line before it, or use the ending .txt.",
    )


def csv_rows(rows: Iterator[list[str]], header: Sequence[str], wanted: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The wanted cells of rows of a CSV file; None for a column that it does not have."""
    places = {name: i for i, name in enumerate(header)}
    at = [places.get(name) for name in wanted]
    return ([None if i is None else cells[i] for i in at] for cells in rows)


def parquet_groups(path: Path) -> list[int]:
    """How many rows each row group has. AlloyError."""
    with closing(OpenParquet(path, [])) as file:
        return [file.rows(group) for group in range(file.groups)]


def csv_cells(file: IO[str], path: Path, width: int | None = None) -> Iterator[list[str]]:
    """The cells of each row that is not empty. width: how many each has, by default those of the first one. AlloyError for what is no CSV."""
    # The module's own limit of 131,072 characters per cell is too small for documents.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_TEXT))
    delimiter = "\t" if format_of(path) == ".tsv" else ","
    with read_errors(path):
        row = _RowOfLines(lines_of(file, f"'{path}'"), f"'{path}'")
        reader = csv.reader(row, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                row.characters = 0
                width = width or len(cells)
                if cells and len(cells) != width:
                    raise csv.Error(f"{len(cells)} cells where the first line has {width}")
                if cells:
                    yield cells
        except csv.Error as error:
            if "field limit" in str(error):
                raise too_long("text", f"line {reader.line_num} of '{path}'") from error
            if reader.line_num == 1:
                _refuse_quoted_separator(row.line, path)
            apart = re.search(rf'{delimiter} +"', row.line)
            raise AlloyError(
                expected=f"well-formed {format_of(path)[1:]} in '{path}'",
                got=f"'{error}' at line {reader.line_num}",
                hint="Delete the blank between separator and quote: quotes count only directly after a separator."
                if apart
                else 'Put texts that contain separators, quotes or line breaks in quotes, and write " as "".',
            ) from error


class _RowOfLines:
    """The lines of one row, for the csv module, which joins them. AlloyError if they are too long together."""

    def __init__(self, lines: Iterator[str], where: str) -> None:
        self.lines, self.where, self.characters, self.line = lines, where, 0, ""

    def __iter__(self) -> _RowOfLines:
        return self

    def __next__(self) -> str:
        self.line = line = next(self.lines)
        self.characters += len(line)
        if self.characters > MAX_LINE:
            raise too_long("line", self.where)
        return line


def json_records(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    """The object in each line that is not blank. AlloyError for a line without one."""
    with read_errors(path):
        for number, line in enumerate(lines_of(file, f"'{path}'"), start=1):
            if not line.strip():
                continue
            record, problem = None, ""
            try:
                record = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                problem = str(error)
            if not isinstance(record, dict):
                got = f"{problem or type(record).__name__} at line {number}"
                raise AlloyError(expected=f"one JSON object in each line of '{path}'", got=got, hint=JSON_LINES)
            if record and all(isinstance(value, dict) and "0" in value for value in record.values()):
                got = f"an object with a column in each key, at line {number}"
                raise AlloyError(expected=f"one JSON object in each line of '{path}'", got=got, hint=JSON_LINES)
            yield record


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


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Errors of reading a file, inside, become AlloyErrors."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise AlloyError(
            expected=f"UTF-8 text in '{path}'",
            got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
            hint="Save it as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
        ) from error
    except gzip.BadGzipFile as error:
        raise AlloyError(
            expected=f"a gzip file in '{path}', as its name says",
            got=f"'{error}'",
            hint="If it is not packed, let its name end without .gz. Else copy or download it again.",
        ) from error
    except (
        OSError,
        EOFError,
        ValueError,
        OverflowError,
        NotImplementedError,
        LookupError,
        TypeError,
        zlib.error,
    ) as error:
        # Arrow's errors are of all these kinds; OverflowError: times that Python's types cannot hold
        raise AlloyError(expected=f"a readable file '{path}'", got=f"{type(error).__name__}: {error}") from error
