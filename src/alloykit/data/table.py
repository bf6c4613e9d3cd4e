"""The table of texts. Rows are checked one by one, and unusable rows are counted."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

from alloykit.data.disk import DiskWriter
from alloykit.data.joined_table import JoinedTable
from alloykit.data.limits import MAX_TEXT, too_long
from alloykit.data.readers import RawTable
from alloykit.data.text_table import TextTable
from alloykit.data.texts_options import ColumnOptions
from alloykit.errors import AlloyError
from alloykit.names import quoted, shown
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import RowIndex, id_blocks
from alloykit.temporary.rows_at import Array

# In the label of a text with several. Unicode's unit separator, because a name can have a line break.
BETWEEN_LABELS = "\x1f"
UNLABELLED = "?"
"""The labels of a text that nobody has labelled yet, where a text may have several. An empty cell says that no label fits."""
SHOWN = 5  # row numbers of unusable rows that a message lists


@dataclass(frozen=True, eq=False)
class Texts:
    """The usable texts, and counts of the others. Every input row is in the table or counted in `dropped`.

    table: columns id (string, 32 hex characters), text (string), text_pair (string or null; only for pair
        tasks), label (string; only if labels were read), source_row (int64, position in the input from 0).
    dropped: reason -> number of rows. total: rows of the input that were read. limited: a `limit` ended the reading, so further rows may follow.
    """

    table: TextTable
    dropped: dict[str, int]
    total: int
    limited: bool = False

    def __len__(self) -> int:
        return len(self.table)

    @property
    def has_labels(self) -> bool:
        """Whether labels were read."""
        return "label" in self.table.column_names

    @property
    def is_pair(self) -> bool:
        """Whether texts have a second text."""
        return "text_pair" in self.table.column_names

    @property
    def pairs(self) -> list[str | None] | None:
        """The second texts; None where texts have none."""
        return list(self.table["text_pair"]) if self.is_pair else None

    def select(self, at: Sequence[int] | Array) -> Texts:
        """Some of the texts, in this order. at: positions."""
        return replace(self, table=self.table.select(at))

    @property
    def text_columns(self) -> list[str]:
        """text, and text_pair for pairs."""
        return ["text", "text_pair"] if self.is_pair else ["text"]

    @property
    def duplicates(self) -> int:
        """Rows of the table whose id occurs in an earlier row."""
        return len(self) - self._distinct

    @cached_property
    def _distinct(self) -> int:
        return RowIndex(id_blocks(self.ids()), len(self)).distinct

    def ids(self) -> RowFile:
        """The id of each text as bytes, [n, 16] uint8, in a temporary file."""
        return self._ids

    @cached_property
    def _ids(self) -> RowFile:
        return self.table.ids()

    def fingerprint(self) -> str:
        """sha256 (64 hex characters) over the ids, and labels if there are any, in order."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        columns = ["id", "label"] if self.has_labels else ["id"]
        digest = hashlib.sha256(",".join(columns).encode())
        for batch in self.table.batches(columns):
            for row in zip(*(batch[name] for name in columns), strict=True):
                for value in row:
                    digest.update(_length_prefixed(value))
        return digest.hexdigest()


def joined_texts(parts: Sequence[Texts]) -> Texts:
    """The texts of several tables, one after another; rows of the input are counted over all of them.

    It has pairs if one of them has, and labels if all of them have.
    """
    pair, labels = any(part.is_pair for part in parts), all(part.has_labels for part in parts)
    names = ["id", "text", *(["text_pair"] if pair else []), *(["label"] if labels else []), "source_row"]
    dropped = dict[str, int]()
    for reason, count in (item for part in parts for item in part.dropped.items()):
        dropped[reason] = dropped.get(reason, 0) + count
    totals = [part.total for part in parts]
    return Texts(JoinedTable([part.table for part in parts], totals, names), dropped, sum(totals), parts[-1].limited)


def text_id(text: str, pair: str | None = None, salt: str = "") -> str:
    """The id of a text: 32 hex characters of the sha256 over salt, text and pair, each after its length.

    No pair and an empty pair differ. Raises AlloyError for text that has no UTF-8 form (a lone surrogate).
    """
    try:
        parts = b"".join(_length_prefixed(part) for part in (salt, text, pair) if part is not None)
    except UnicodeEncodeError as error:
        raise AlloyError(expected="valid Unicode text", got=f"a lone surrogate at {error.start}") from error
    return hashlib.sha256(parts).hexdigest()[:32]


class RowCollector:
    """Checks rows one by one and puts the usable ones into a table."""

    def __init__(self, options: ColumnOptions, columns: dict[str, str]) -> None:
        import pyarrow as pa

        self.options, self.columns = options, columns
        self.salt = _salt(options.salt_env)
        self.unusable: dict[str, tuple[int, list[int]]] = {}  # reason -> number of rows, and the first rows
        self.total = 0
        names = ["id", *columns]
        self.rows = DiskWriter(pa.schema([(name, pa.string()) for name in names] + [("source_row", pa.int64())]))

    def add(self, table: RawTable, row: Sequence[Any]) -> None:
        """Check a row of a table, and keep it if it is usable. row: the values of the wanted columns. AlloyError for one that is too long."""
        values = dict(zip(self.columns, row, strict=True))
        for value in row:
            if isinstance(value, str) and len(value) > MAX_TEXT:
                raise too_long("text", f"row {self.total} of {table.where}", len(value))
        text, pair = values["text"], values.get("text_pair")
        reason = row_problem(text, pair)
        if not reason and "label" in values:
            class_names = table.class_names.get(self.columns["label"], [])
            label = label_of(values["label"], self.options, class_names, f"row {self.total} of {table.where}")
            values["label"] = label
            reason = "missing label" if label is None else _cell_problem("label", label)
        if reason:
            count, first = self.unusable.get(reason, (0, []))
            self.unusable[reason] = (count + 1, [*first, self.total] if count < SHOWN else first)
        else:
            self.rows.add((text_id(text, pair, self.salt), *values.values(), self.total))
        self.total += 1

    def problems(self) -> str:
        """The unusable rows in words. Their texts are left out, because reports must not leak texts."""
        parts = []
        for reason, (count, rows) in self.unusable.items():
            first = ", ".join(map(str, rows[:SHOWN])) + (", …" if count > SHOWN else "")
            parts.append(f"{count} {reason} (row{'s' if count > 1 else ''} {first})")
        dropped = sum(count for count, _ in self.unusable.values())
        return f"{dropped} of {self.total} rows, counted from 0: {'; '.join(parts)}"

    def table(self) -> TextTable:
        """The usable rows."""
        return self.rows.table()

    def texts(self, where: str = "") -> Texts:
        """The table. AlloyError if no row is usable, and for unusable rows that the options refuse. where: the place of the texts, for messages."""
        table = self.table()
        if self.unusable and self.options.bad_rows == "refuse":
            hint = "Correct them, or set `bad_rows: drop`."
            raise AlloyError(
                expected=f"a usable text in every row{where and f' of {where}'}", got=self.problems(), hint=hint
            )
        if not len(table):
            got = f"none; unusable were {self.problems()}" if self.unusable else "no rows"
            raise AlloyError(expected=f"at least one usable text{where and f' in {where}'}", got=got)
        dropped = {reason: count for reason, (count, _) in self.unusable.items()}
        return Texts(table, dropped, self.total, self.total == self.options.limit)


def row_problem(text: object, pair: object = None) -> str:
    """Why a row has no usable text; "" if it has one. A row without a pair is a single text; an empty pair is a pair."""
    reason = _cell_problem("text", text) or ("" if str(text).strip() else "empty text")
    return reason or ("" if pair is None else _cell_problem("text_pair", pair))


def _cell_problem(role: str, value: object) -> str:
    """What is wrong with a cell; "" if nothing is."""
    if not isinstance(value, str):
        return f"{role} is not a string"
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON and Python can hold it, UTF-8 files and tokenizers cannot
        return f"{role} is not valid Unicode"
    # U+0000 is valid Unicode, but comes from UTF-16 or binary data that was read as text.
    return f"{role} contains a NUL character" if "\0" in value else ""


def label_of(value: Any, options: ColumnOptions, class_names: Sequence[str], where: str) -> str | None:
    """The label in a cell, stripped; of a text with several labels, all of them with BETWEEN_LABELS between them. None if it is missing. AlloyError.

    class_names: of a ClassLabel column. where: for messages."""
    if options.label_separator is not None:
        return _several_labels(value, options.label_separator, where)
    return _label(value, [name.strip() for name in options.label_names or []], class_names, where)


def _several_labels(value: Any, separator: str, where: str) -> str | None:
    """The labels of a text, stripped, with BETWEEN_LABELS between them; "" for none, and None for a text that is UNLABELLED. AlloyError for anything but a string or a list of strings."""
    if isinstance(value, str) and value.strip() == UNLABELLED:
        return None
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    parts = [] if missing else value.split(separator) if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise AlloyError(
            expected=f"labels with '{separator}' between them, or a list of labels",
            got=f"{shown(value)} in {where}",
            hint="Convert the column, for example to `toxic|insult`.",
        )
    return BETWEEN_LABELS.join(part.strip() for part in parts if part.strip())


def _label(value: Any, label_names: Sequence[str], class_names: Sequence[str], where: str) -> str | None:
    """The label's name, stripped; None if it is missing. label_names: the user's; class_names: those of a ClassLabel column."""
    value = value.strip() if isinstance(value, str) else value
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    names = label_names or class_names
    if isinstance(value, str):
        if not label_names or value in label_names:
            return value
        # A csv has only strings. Its "1" is a position, unless some label names are numbers. pandas writes "1.0" beside missing values.
        number, *others = (word.removesuffix(".0") for word in (value, *label_names))
        if not (number.isascii() and number.isdecimal()) or any(other.isdecimal() for other in others):
            raise AlloyError(expected=f"a label among {quoted(label_names)}", got=f"{shown(value)} in {where}")
        value = int(number)
    if isinstance(value, float) and value.is_integer():  # pandas turns integers beside missing values into floats
        value = int(value)
    if not isinstance(value, Integral):
        got = f"{type(value).__name__} in {where}"
        raise AlloyError(expected="one label per text, a string or an integer", got=got)
    position = int(value)
    if not names:
        if isinstance(value, bool):
            raise AlloyError(
                expected="names for the labels false and true, since labels are joined by name",
                got=f"{str(value).lower()} in {where}",
                hint="List them in this order, for instance `label_names: [no, yes]`.",
            )
        raise AlloyError(
            expected="names for integer labels, since labels are joined by name",
            got=f"the label {position} in {where}",
            hint="List them in order: `label_names: [bug, login, …]`.",
        )
    if not 0 <= position < len(names):
        raise AlloyError(
            expected=f"labels from 0 to {len(names) - 1} for the {len(names)} names {quoted(names)}",
            got=f"{position} in {where}",
            hint="-1 usually marks the unlabelled split of a hub data set." if position == -1 else "",
        )
    return names[position].strip()


def _salt(variable: str | None) -> str:
    if variable is not None and not os.environ.get(variable):
        got = "an empty value" if variable in os.environ else "none"
        hint = "Set it, and do not change it: another salt gives other ids."
        raise AlloyError(expected=f"a salt in the environment variable {variable}", got=got, hint=hint)
    return os.environ[variable] if variable else ""


def _length_prefixed(value: str) -> bytes:
    data = value.encode()
    return len(data).to_bytes(8, "big") + data
