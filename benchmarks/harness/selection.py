"""Which parts of some tables a command asks for. A name that no cell has would run nothing, without a word; an option that a table does not have would
run all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def wrong_selection(tables: Mapping[str, Any], only: Mapping[str, Sequence[Any] | None]) -> str | None:
    """What is wrong with `only` (values of setting, pool, method or seed): an option that one of the tables (by name) does not have, a value that no cell
    has, or values that no cell has together. None if nothing is. A table says in `options` which of them it has, and lists in `selectable()`
    what they choose from."""
    asked = {key: values for key, values in only.items() if values}
    for key in asked:
        for name, table in tables.items():
            if key not in table.options:
                its = f"it has --{', --'.join(table.options)}" if table.options else "it is run as a whole"
                others = [other for other, table in tables.items() if key in table.options]
                instead = f". Name only tables that have it: {' '.join(others)}" if others else ""
                return f"--{key}: the table {name} has no such option; {its}{instead}"
    cells = [cell for table in tables.values() for cell in table.selectable()]
    for key, values in asked.items():
        there = list(dict.fromkeys(getattr(cell, key) for cell in cells))
        for value in values:
            if value not in there:
                return f"--{key}: expected one of {', '.join(map(str, there))}; got {value}"
    if not asked or any(selected(cells, asked)):
        return None
    told = ", ".join(f"--{key} {value}" for key, values in asked.items() for value in values)
    return f"expected options that one cell has together; no cell has {told}"


def selected(cells: Iterable[Any], only: Mapping[str, Sequence[Any] | None]) -> list[Any]:
    """The cells whose every attribute that `only` names has one of its values there; None, or no values: all."""
    kept = {key: values for key, values in only.items() if values}
    return [cell for cell in cells if all(getattr(cell, key) in values for key, values in kept.items())]
