"""Texts in: a file, a folder, a hub data set or a Python list becomes one table.

Texts are taken exactly as they are written: nothing is stripped; "00123", "NA" and "null" are texts. Rows
without a usable text are counted by reason, then dropped or refused. Texts that repeat stay.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import json
import math
import os
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError, model_validator

from alloykit.errors import AlloyError, AlloyWarning

if TYPE_CHECKING:  # a second to import, and the command line imports this module for its help
    import datasets

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".parquet")
_HUB_ID = re.compile(r"\w[\w.-]*/[\w.-]+")


class ColumnOptions(BaseModel, extra="forbid", frozen=True):
    """How to read a table of texts, wherever it comes from."""

    text: str = "text"
    text_pair: str | None = None
    label: str | None = None
    label_names: list[str] | None = None  # names for integer labels
    bad_rows: Literal["drop", "refuse"] = "drop"
    limit: Annotated[int, Field(ge=1)] | None = None  # read only so many rows of the input
    salt_env: str | None = None  # the environment variable whose value salts the text ids

    @model_validator(mode="after")
    def _columns_differ(self) -> ColumnOptions:
        columns = [c for c in (self.text, self.text_pair, self.label) if c is not None]
        if len(set(columns)) < len(columns):
            raise AlloyError(expected="different columns for text, text_pair and label", got=_quoted(columns))
        names = self.label_names
        if names is not None and (not names or len({n.strip() for n in names} - {""}) < len(names)):
            raise AlloyError(expected="different, non-empty label_names", got=_quoted(names) or "an empty list")
        return self


class TextsOptions(ColumnOptions, extra="forbid", frozen=True):
    """The recipe's `texts:` or `evaluate.data:` block: exactly one of `path` and `dataset` (a hub id)."""

    path: str | None = None
    dataset: str | None = None
    config: str | None = None
    split: str = "train"
    revision: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> TextsOptions:
        if (self.path is None) == (self.dataset is None):
            got = "neither" if self.path is None else f"both ('{self.path}' and '{self.dataset}')"
            raise AlloyError(expected="either `path` (file or folder) or `dataset` (hub id)", got=got)
        return self


@dataclass(frozen=True, eq=False)
class Texts:
    """Usable texts and what became of the others. Every input row is in the table or counted in `dropped`.

    table: columns id (string, 32 hex characters), text (string), text_pair (string or null; only for pair
        tasks), label (string; only if labels were read), source_row (int64, position in the input from 0).
    dropped: reason -> number of rows. duplicates: rows of the table whose id occurred before.
    total: rows of the input that were read.
    """

    table: datasets.Dataset
    dropped: dict[str, int]
    duplicates: int
    total: int

    def __len__(self) -> int:
        return len(self.table)

    @property
    def has_labels(self) -> bool:
        return "label" in self.table.column_names

    @property
    def is_pair(self) -> bool:
        return "text_pair" in self.table.column_names

    def fingerprint(self) -> str:
        """sha256 (64 hex characters) over the ids, and labels if there are any, in order."""
        columns = ["id", "label"] if self.has_labels else ["id"]
        digest = hashlib.sha256(",".join(columns).encode())
        for batch in self.table.select_columns(columns).with_format(None).iter(batch_size=1000):
            for row in zip(*(batch[name] for name in columns), strict=True):
                for value in row:
                    digest.update(_prefixed(value))
        return digest.hexdigest()


def text_id(text: str, pair: str | None = None, salt: str = "") -> str:
    """The id of a text: 32 hex characters of the sha256 over salt, text and pair, each after its length.

    No pair and an empty pair differ. Raises AlloyError for text that has no UTF-8 form (a lone surrogate).
    """
    try:
        parts = b"".join(_prefixed(part) for part in (salt, text, pair) if part is not None)
    except UnicodeEncodeError as error:
        raise AlloyError(expected="valid Unicode text", got=f"a lone surrogate at {error.start}") from error
    return hashlib.sha256(parts).hexdigest()[:32]


def load_texts(
    source: str | Path | Sequence[Any] | datasets.Dataset | TextsOptions,
    *,
    want_labels: bool = False,
    **options: Any,
) -> Texts:
    """Read texts into one table.

    source: a csv, tsv, jsonl, txt (one text per line; all these also gzipped) or parquet file; a folder of
        them, read in the order of their names; a hub id "owner/name"; a list of strings, of (text, pair) or
        of dicts; a `datasets.Dataset`; or TextsOptions.
    want_labels: labels are needed; their column is "label" unless `label` names another. Without it labels
        are read only if `label` is given.
    options: fields of TextsOptions. They override those of `source`.

    Warns (AlloyWarning) about dropped rows and skipped files. Raises AlloyError for everything that the user
    has to mend: a missing file or column, text that is not UTF-8, labels without names, no usable row at all.
    """
    chosen, given = _options(source, options)
    label = chosen.label or ("label" if want_labels else None)
    roles = {"text": chosen.text, "text_pair": chosen.text_pair, "label": label}
    columns = {role: name for role, name in roles.items() if name is not None}
    collected, wanted = _Collector(chosen, columns), list(columns.values())
    skipped: list[str] = []
    for part, row in islice(_rows(_parts(given, chosen, wanted, skipped), columns), chosen.limit):
        collected.add(part, row)
    texts = collected.texts()
    if skipped:
        note = f"Skipped in '{given}', since they are no files of texts ({', '.join(FORMATS)}): "
        warnings.warn(note + _quoted(skipped), AlloyWarning, stacklevel=2)
    if texts.dropped:
        warnings.warn(f"Dropped {collected.problems()}.", AlloyWarning, stacklevel=2)
    return texts


class _Part(NamedTuple):
    """One file, list or data set: its columns, and its rows as values of the wanted columns."""

    where: str
    columns: list[str]
    rows: Iterable[Sequence[Any]]
    class_names: Mapping[str, list[str]] = {}  # of ClassLabel columns


class _Collector:
    """Checks rows one by one and puts the good ones into a table."""

    def __init__(self, options: ColumnOptions, columns: dict[str, str]) -> None:
        import pyarrow as pa

        self.options, self.columns = options, columns
        self.label_names = [name.strip() for name in options.label_names or []]
        self.salt = _salt(options.salt_env)
        self.bad: dict[str, list[int]] = {}
        self.total = 0
        fields = ["id", *columns]
        self.schema = pa.schema([(name, pa.string()) for name in fields] + [("source_row", pa.int64())])
        self.chunks = [self.schema.empty_table()]
        self.buffer: list[tuple[Any, ...]] = []

    def add(self, part: _Part, row: Sequence[Any]) -> None:
        values = dict(zip(self.columns, row, strict=True))
        text, pair = values["text"], values.get("text_pair")
        reason = _fault("text", text) or ("" if text.strip() else "empty text")
        if not reason and pair is not None:  # a row without a pair is a single text; an empty pair is a pair
            reason = _fault("text_pair", pair)
        if not reason and "label" in values:
            own = part.class_names.get(self.columns["label"], [])
            label = _label(values["label"], self.label_names, own, f"row {self.total} of {part.where}")
            values["label"] = label
            reason = "missing label" if label is None else _fault("label", label)
        if reason:
            self.bad.setdefault(reason, []).append(self.total)
        else:
            self.buffer.append((text_id(text, pair, self.salt), *values.values(), self.total))
        self.total += 1
        if len(self.buffer) >= 10_000:  # Arrow holds texts in a fraction of the memory that Python takes
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = [list(column) for column in zip(*self.buffer, strict=True)]
        if columns:
            self.chunks.append(pa.table(columns, schema=self.schema))
        self.buffer = []

    def problems(self) -> str:
        """The bad rows in words, without their texts: reports must not leak them."""
        parts = []
        for reason, rows in self.bad.items():
            first = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
            parts.append(f"{len(rows)} {reason} (row{'s' if len(rows) > 1 else ''} {first})")
        dropped = sum(map(len, self.bad.values()))
        return f"{dropped} of {self.total} rows, counted from 0: {'; '.join(parts)}"

    def texts(self) -> Texts:
        import datasets
        import pyarrow as pa
        import pyarrow.compute as pc

        self._flush()
        table = pa.concat_tables(self.chunks)
        if self.bad and self.options.bad_rows == "refuse":
            hint = "Mend them, or set `bad_rows: drop`."
            raise AlloyError(expected="a usable text in every row", got=self.problems(), hint=hint)
        if not len(table):
            got = f"none; unusable were {self.problems()}" if self.bad else "no rows"
            raise AlloyError(expected="at least one usable text", got=got)
        return Texts(
            table=datasets.Dataset(datasets.table.InMemoryTable(table)),
            dropped={reason: len(rows) for reason, rows in self.bad.items()},
            duplicates=len(table) - pc.count_distinct(table["id"]).as_py(),
            total=self.total,
        )


def _fault(role: str, value: object) -> str:
    """What is wrong with a cell; "" if nothing is."""
    if not isinstance(value, str):
        return f"{role} is not a string"
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON and Python can hold but no UTF-8 file or tokenizer
        return f"{role} is not valid Unicode"
    # U+0000 is valid Unicode, but nobody writes it: it comes from UTF-16 or binary data read as text.
    return f"{role} contains a NUL character" if "\0" in value else ""


def _label(value: Any, given: Sequence[str], own: Sequence[str], where: str) -> str | None:
    """The label's name, stripped; None if it is missing. given: the user's label_names; own: the ClassLabel's."""
    value = value.strip() if isinstance(value, str) else value
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    names = given or own
    if isinstance(value, str):
        if not given or value in given:
            return value
        # A csv has only strings: its "1" is a position, unless there are label names that are numbers.
        if not (value.isascii() and value.isdecimal()) or any(name.isdecimal() for name in given):
            raise AlloyError(expected=f"a label among {_quoted(given)}", got=f"{value!r} in {where}")
        value = int(value)
    if isinstance(value, float) and value.is_integer():  # how integers look beside missing values
        value = int(value)
    if not isinstance(value, Integral):
        got = f"{type(value).__name__} in {where}"
        raise AlloyError(expected="one label per text, a string or an integer", got=got)
    position = int(value)
    if not names:
        raise AlloyError(
            expected="names for integer labels, since labels are joined by name",
            got=f"the label {position} in {where}",
            hint="List them in order: `label_names: [bug, login, …]`.",
        )
    if not 0 <= position < len(names):
        raise AlloyError(
            expected=f"labels from 0 to {len(names) - 1} for the {len(names)} names {_quoted(names)}",
            got=f"{position} in {where}",
            hint="-1 usually marks the unlabelled split of a hub data set." if position == -1 else "",
        )
    return names[position].strip()


def _salt(variable: str | None) -> str:
    if variable is not None and not os.environ.get(variable):
        got = "an empty value" if variable in os.environ else "none"
        hint = "Set it, and keep it: other salts give other ids."
        raise AlloyError(expected=f"a salt in the environment variable {variable}", got=got, hint=hint)
    return os.environ[variable] if variable else ""


def _options(source: Any, overrides: dict[str, Any]) -> tuple[ColumnOptions, Any]:
    """The options to read with, and the path, hub id, list or Dataset to read."""
    try:
        if isinstance(source, TextsOptions):
            chosen = TextsOptions.model_validate({**source.model_dump(), **overrides})
        elif isinstance(source, (str, Path)):
            place = "dataset" if isinstance(source, str) and _is_hub_id(source) else "path"
            chosen = TextsOptions.model_validate({place: str(source), **overrides})
        else:
            columns = ColumnOptions.model_validate(overrides)
            is_list = isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray))
            if is_list and isinstance(next((x for x in source if x is not None), None), (list, tuple)):
                columns = columns.model_copy(update={"text_pair": columns.text_pair or "text_pair"})
            return columns, source
    except ValidationError as error:
        problems = [f"`{'.'.join(map(str, e['loc']))}`: {e['msg'].lower()}" for e in error.errors()]
        known = ", ".join(TextsOptions.model_fields)
        raise AlloyError(expected=f"options among {known}", got="; ".join(problems)) from error
    return chosen, Path(chosen.path).expanduser() if chosen.path is not None else chosen.dataset


def _is_hub_id(source: str) -> bool:
    # With a local folder "owner", a missing "owner/name" is a slip of the pen, and no reason to ask the hub.
    path = Path(source)
    shaped = _HUB_ID.fullmatch(source) is not None and _format(path) not in FORMATS
    return shaped and not path.exists() and not path.parent.exists()


def _rows(parts: Iterable[_Part], columns: Mapping[str, str]) -> Iterator[tuple[_Part, Sequence[Any]]]:
    for part in parts:
        for role, name in columns.items():
            _require(part, role, name, set(columns.values()))
        for row in part.rows:
            yield part, row


def _require(part: _Part, role: str, name: str, used: set[str]) -> None:
    if part.columns.count(name) == 1:
        return
    shown = _quoted(part.columns) or "none"
    if name in part.columns:
        raise AlloyError(expected=f"one column '{name}'", got=f"columns {shown} in {part.where}")
    spare = {column.lower(): column for column in part.columns if column not in used}
    near = difflib.get_close_matches(name.lower(), spare, n=1)
    guess = _short(spare[near[0]] if near else next(iter(spare.values()), ""))
    hint = f"Set `{role}: {guess}`" + ("." if near else " if that is the column to read.") if spare else ""
    if len(part.columns) == 1 and part.where.strip("'").removesuffix(".gz").endswith(("csv", "tsv")):
        hint += " If the first line is a text, put a header line before it, or use the ending .txt."
    raise AlloyError(expected=f"a column '{name}'", got=f"columns {shown} in {part.where}", hint=hint)


def _parts(given: Any, options: ColumnOptions, wanted: list[str], skipped: list[str]) -> Iterator[_Part]:
    """Open what was given, one part at a time; names of files that are passed over are added to `skipped`."""
    import datasets

    if isinstance(given, datasets.Dataset):
        yield _dataset_part(given, wanted, "the data set")
    elif isinstance(given, Path):
        if not given.exists():
            raise _missing(given)
        if isinstance(options, TextsOptions) and (given / "dataset_dict.json").is_file():
            given = given / options.split
        if (given / "state.json").is_file():  # written by Dataset.save_to_disk
            with _reading(given):
                saved = datasets.load_from_disk(str(given))
            yield _dataset_part(saved, wanted, f"'{given}'")
            return
        for path in _files(given, skipped) if given.is_dir() else [given]:
            yield _file_part(path, wanted)
    elif isinstance(given, str) and isinstance(options, TextsOptions):
        yield _dataset_part(_from_hub(options), wanted, f"the data set '{given}'")
    elif isinstance(given, Sequence) and not isinstance(given, (bytes, bytearray)):
        yield _list_part(given, wanted)
    else:
        splits = f" with splits {_quoted(given)}" if isinstance(given, Mapping) else ""
        raise AlloyError(
            expected="a path, a hub id, a list of strings, pairs or dicts, or a datasets.Dataset",
            got=f"{type(given).__name__}{splits}",
            hint="Choose one split, such as data['train']." if splits else "",
        )


def _from_hub(options: TextsOptions) -> Any:
    import datasets

    try:
        return datasets.load_dataset(options.dataset, options.config, split=options.split, revision=options.revision)
    except Exception as error:  # the network, the hub and its parsers raise dozens of unrelated types
        raise AlloyError(
            expected=f"the data set '{options.dataset}' (split '{options.split}') on the hub",
            got=f"{type(error).__name__}: {str(error).strip() or 'no details'}",
            hint="Check id, `config`, `split`, `revision` and the network. For your own files use `path`.",
        ) from error


def _dataset_part(data: Any, wanted: list[str], where: str) -> _Part:
    def rows() -> Iterator[Sequence[Any]]:
        for batch in data.select_columns(wanted).with_format(None).iter(batch_size=1000):
            yield from zip(*(batch[name] for name in wanted), strict=True)

    names = {name: list(f.names) for name, f in data.features.items() if hasattr(f, "names")}
    return _Part(where, list(data.column_names), rows(), names)


def _list_part(items: Sequence[Any], wanted: list[str]) -> _Part:
    where, first = "the list", next((item for item in items if item is not None), None)
    if not isinstance(first, (Mapping, list, tuple)):
        return _Part(where, ["text"], ((item,) for item in items))
    kind: Any = Mapping if isinstance(first, Mapping) else (list, tuple)
    for number, item in enumerate(items):
        if item is not None and (not isinstance(item, kind) or (kind is not Mapping and len(item) != 2)):
            expected = "only dicts in the list" if kind is Mapping else "only (text, pair) in the list"
            raise AlloyError(expected=expected, got=f"{type(item).__name__} at position {number}")
    if kind is not Mapping:
        pairs = (dict(zip(("text", "text_pair"), item or (None, None), strict=True)) for item in items)
        return _Part(where, ["text", "text_pair"], _pick(pairs, wanted))
    records = [item or {} for item in items]
    return _Part(where, _keys(records), _pick(records, wanted))


def _file_part(path: Path, wanted: list[str]) -> _Part:
    where, kind = f"'{path}'", _format(path)
    if kind == ".parquet":
        import datasets
        import pyarrow.parquet as pq

        with _reading(path):
            file = pq.ParquetFile(path)
            schema = file.schema_arrow
            features = datasets.Features.from_arrow_schema(schema) if schema.metadata else {}
        names = {name: list(f.names) for name, f in features.items() if hasattr(f, "names")}
        return _Part(where, schema.names, _parquet_rows(path, file, wanted), names)
    if kind in (".csv", ".tsv"):
        lines = _csv_lines(path, "\t" if kind == ".tsv" else ",")
        header = [name.strip() for name in next(lines, [])]
        return _Part(where, header, _pick((dict(zip(header, c, strict=True)) for c in lines), wanted))
    if kind in (".jsonl", ".ndjson", ".json"):
        return _Part(where, _keys(_json_records(path), wanted), _pick(_json_records(path), wanted))
    if kind == ".txt":
        return _Part(where, ["text"], _txt_rows(path))
    raise AlloyError(expected=f"a file that ends in {', '.join(FORMATS)} (or .gz after it)", got=where)


def _pick(records: Iterable[Mapping[str, Any]], wanted: list[str]) -> Iterator[Sequence[Any]]:
    return ([record.get(name) for name in wanted] for record in records)


def _keys(records: Iterable[Mapping[str, Any]], wanted: Sequence[str] = ()) -> list[str]:
    """The keys of all records in order; it stops reading once all the wanted ones were seen."""
    seen: dict[str, None] = {}
    for record in records:
        seen.update(dict.fromkeys(record))
        if wanted and seen.keys() >= set(wanted):
            break
    return list(seen)


def _parquet_rows(path: Path, file: Any, wanted: list[str]) -> Iterator[Sequence[Any]]:
    with _reading(path):
        for batch in file.iter_batches(batch_size=1000, columns=wanted):
            yield from zip(*(batch.column(name).to_pylist() for name in wanted), strict=True)


def _csv_lines(path: Path, delimiter: str) -> Iterator[list[str]]:
    # The module's own limit of 131,072 characters per cell is too small for documents.
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    with _reading(path), _open(path, newline="") as file:
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
    with _reading(path), _open(path) as file:
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
    with _reading(path), _open(path) as file:
        yield from ((line.removesuffix("\n"),) for line in file)


def _open(path: Path, newline: str | None = None) -> IO[str]:
    # utf-8-sig: Excel puts a byte-order mark before the first column's name.
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return path.open(encoding="utf-8-sig", newline=newline)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
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


def _files(folder: Path, skipped: list[str]) -> list[Path]:
    visible = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "_")))
    files = [path for path in visible if path.is_file() and _format(path) in FORMATS]
    skipped.extend(path.name for path in visible if path not in files)
    if not files:
        got = f"none in '{folder}'" + (f", only {_quoted(skipped)}" if skipped else "")
        raise AlloyError(expected=f"files that end in {', '.join(FORMATS)}", got=got)
    return files


def _missing(path: Path) -> AlloyError:
    parent = next((folder for folder in path.parents if folder.is_dir()), path.parent)
    there = sorted(p.name for p in parent.iterdir()) if parent.is_dir() else []
    near = difflib.get_close_matches(path.name, there, n=3)
    hint = f"Did you mean {_quoted(near)}?" if near else f"In '{parent}': {_quoted(there) or 'no files'}."
    if _HUB_ID.fullmatch(str(path)):
        hint += f" For a data set on the hub write `dataset: {path}`."
    return AlloyError(expected="an existing file or folder", got=f"nothing at '{path}'", hint=hint)


def _format(path: Path) -> str:
    name = Path(path.name.lower())
    # Parquet compresses its own columns; a gzipped one could not be read in pieces.
    inner = Path(name.stem).suffix
    return inner if name.suffix == ".gz" and inner != ".parquet" else name.suffix


def _prefixed(value: str) -> bytes:
    data = value.encode()
    return len(data).to_bytes(8, "big") + data


def _short(name: object) -> str:
    return str(name) if len(str(name)) <= 40 else f"{str(name)[:40]}…"


def _quoted(names: Iterable[object] | None) -> str:
    listed = [f"'{_short(name)}'" for name in names or []]
    return ", ".join(listed[:20]) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")
