"""Which cells of some tables a command asks for. A name that no cell has would run nothing, without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.table import Table


def nothing_selected(tables: Sequence[Any], only: Mapping[str, Sequence[Any] | None]) -> str | None:
    """What is wrong with `only` (values of setting, pool, method or seed, as in `Table.cells`): a value that no cell has, or values that no cell has
    together. None if there is a cell, or if one of the tables is not made of such cells."""
    parts = [part for table in tables for part in getattr(table, "tables", (table,))]
    if not all(isinstance(part, Table) for part in parts):
        return None
    cells = [cell for part in parts for cell in part.cells()]
    for key, values in only.items():
        there = list(dict.fromkeys(getattr(cell, key) for cell in cells))
        for value in values or ():
            if value not in there:
                return f"--{key}: expected one of {', '.join(map(str, there))}; got {value}"
    kept = {key: values for key, values in only.items() if values}
    if any(True for part in parts for _ in part.cells(**kept)):
        return None
    asked = ", ".join(f"--{key} {value}" for key, values in kept.items() for value in values)
    return f"expected options that one cell has together; no cell has {asked}"
