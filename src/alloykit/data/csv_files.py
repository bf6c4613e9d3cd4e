"""Read csv and tsv files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from alloykit.data.file_formats import format_of, read_errors
from alloykit.data.limits import MAX_LINE, MAX_TEXT, lines_of, too_long
from alloykit.errors import AlloyError
from alloykit.names import short

SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}


def header_of(rows: Iterator[list[str]]) -> list[str]:
    """The columns of a CSV file, from its first row."""
    return [name.strip() for name in next(rows, [])]


def csv_rows(rows: Iterator[list[str]], header: Sequence[str], wanted: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The wanted cells of rows of a CSV file; None for a column that it does not have."""
    places = {name: i for i, name in enumerate(header)}
    at = [places.get(name) for name in wanted]
    return ([None if i is None else cells[i] for i in at] for cells in rows)


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


def refuse_other_separator(header: Sequence[str], kind: str, where: str) -> None:
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
