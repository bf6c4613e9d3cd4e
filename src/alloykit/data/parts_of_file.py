"""Read a file of texts in parts, some thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from alloykit.data.readers import RawTable, read_file
from alloykit.errors import AlloyError


@dataclass(frozen=True)
class TextsPart:
    """Some consecutive rows of a file, as values of the columns of texts. `first`: the position of the first one."""

    first: int
    rows: list[Sequence[Any]]


@dataclass(frozen=True)
class PartsOfFile:
    """Reads a file of texts, `size` rows at a time. A file without rows is one part without rows. AlloyError for a missing column."""

    columns: tuple[str, ...]
    size: int

    def __call__(self, path: Path) -> Iterator[TextsPart]:
        table: RawTable = read_file(path, list(self.columns))
        if missing := [name for name in self.columns if name not in table.columns]:
            raise AlloyError(
                expected=f"a column '{missing[0]}' in '{path}'",
                got=", ".join(table.columns),
                hint="Name the column: `--text COLUMN`.",
            )
        rows, first = iter(table.rows), 0
        while (chunk := list(islice(rows, self.size))) or not first:
            yield TextsPart(first, chunk)
            first += max(len(chunk), 1)
