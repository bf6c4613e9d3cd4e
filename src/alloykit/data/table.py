"""The table of texts: rows are checked one by one, and counted where they cannot be used."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from alloykit.data.disk import DiskTable, DiskWriter
from alloykit.data.limits import MAX_TEXT, too_long
from alloykit.data.readers import Part
from alloykit.data.texts_options import ColumnOptions
from alloykit.errors import AlloyError
from alloykit.names import quoted, shown

SHOWN = 5  # row numbers of unusable rows in a message


@dataclass(frozen=True, eq=False)
class Texts:
    """Usable texts and what became of the others. Every input row is in the table or counted in `dropped`.

    table: columns id (string, 32 hex characters), text (string), text_pair (string or null; only for pair
        tasks), label (string; only if labels were read), source_row (int64, position in the input from 0).
    dropped: reason -> number of rows. duplicates: rows of the table whose id occurred before.
    total: rows of the input that were read.
    """

    table: DiskTable
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

    def ids(self) -> np.ndarray[Any, Any]:
        """The id of each text as bytes, [n, 16] uint8."""
        found = np.empty((len(self), 16), dtype=np.uint8)
        for n, batch in enumerate(self.table.batches(["id"], size := 10_000)):
            part = np.frombuffer(bytes.fromhex("".join(batch["id"])), dtype=np.uint8).reshape(-1, 16)
            found[n * size : n * size + len(part)] = part
        return found

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


class Collector:
    """Checks rows one by one and puts the good ones into a table."""

    def __init__(self, options: ColumnOptions, columns: dict[str, str]) -> None:
        import pyarrow as pa

        self.options, self.columns = options, columns
        self.label_names = [name.strip() for name in options.label_names or []]
        self.salt = _salt(options.salt_env)
        self.bad: dict[str, tuple[int, list[int]]] = {}  # reason -> how many, and the first of them
        self.total = 0
        names = ["id", *columns]
        self.rows = DiskWriter(pa.schema([(name, pa.string()) for name in names] + [("source_row", pa.int64())]))
        self.ids = bytearray()

    def add(self, part: Part, row: Sequence[Any]) -> None:
        values = dict(zip(self.columns, row, strict=True))
        for value in row:
            if isinstance(value, str) and len(value) > MAX_TEXT:
                raise too_long("text", f"row {self.total} of {part.where}", len(value))
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
            count, first = self.bad.get(reason, (0, []))
            self.bad[reason] = (count + 1, [*first, self.total] if count < SHOWN else first)
        else:
            name = text_id(text, pair, self.salt)
            self.rows.add((name, *values.values(), self.total))
            self.ids += bytes.fromhex(name)
        self.total += 1

    def problems(self) -> str:
        """The bad rows in words, without their texts: reports must not leak them."""
        parts = []
        for reason, (count, rows) in self.bad.items():
            first = ", ".join(map(str, rows[:SHOWN])) + (", …" if count > SHOWN else "")
            parts.append(f"{count} {reason} (row{'s' if count > 1 else ''} {first})")
        dropped = sum(count for count, _ in self.bad.values())
        return f"{dropped} of {self.total} rows, counted from 0: {'; '.join(parts)}"

    def texts(self) -> Texts:
        table = self.rows.table()
        if self.bad and self.options.bad_rows == "refuse":
            hint = "Mend them, or set `bad_rows: drop`."
            raise AlloyError(expected="a usable text in every row", got=self.problems(), hint=hint)
        if not len(table):
            got = f"none; unusable were {self.problems()}" if self.bad else "no rows"
            raise AlloyError(expected="at least one usable text", got=got)
        distinct = len(np.unique(np.frombuffer(self.ids, dtype="S16")))
        return Texts(
            table=table,
            dropped={reason: count for reason, (count, _) in self.bad.items()},
            duplicates=len(table) - distinct,
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
            raise AlloyError(expected=f"a label among {quoted(given)}", got=f"{shown(value)} in {where}")
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
            expected=f"labels from 0 to {len(names) - 1} for the {len(names)} names {quoted(names)}",
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


def _prefixed(value: str) -> bytes:
    data = value.encode()
    return len(data).to_bytes(8, "big") + data
