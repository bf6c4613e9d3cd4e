"""Several tables of texts, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from alloykit.data.text_table import TextTable
from alloykit.temporary.rows_at import Array


class JoinedTable(TextTable):
    """The rows of several tables. A column that one of them lacks is None there; rows of the input are counted over all of them."""

    def __init__(
        self, parts: Sequence[TextTable], totals: Sequence[int], columns: Sequence[str], positions: Array | None = None
    ) -> None:
        """totals: how many rows of the input each part was read from. columns: those of this table."""
        super().__init__(positions)
        self._parts, self._totals, self._columns = list(parts), list(totals), list(columns)
        self._starts = np.cumsum([0, *map(len, parts)])
        self._first = np.cumsum([0, *totals]).tolist()

    def __reduce__(self) -> Any:
        return JoinedTable, (self._parts, self._totals, self._columns, self._positions)

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def hold(self, positions: Array, columns: Sequence[str]) -> None:
        at = self._at(positions)
        for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False):
            here = [name for name in columns if name in part.column_names]
            part.hold(at[(at >= start) & (at < end)] - start, here)

    def _rows(self) -> int:
        return int(self._starts[-1])

    def _selected(self, positions: Array) -> Self:
        return type(self)(self._parts, self._totals, self._columns, positions)

    def _read(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {name: [None] * len(at) for name in names}
        which = np.searchsorted(self._starts[1:], at, side="right")
        for n in np.unique(which).tolist():
            mine, part = np.flatnonzero(which == n), self._parts[n]
            here = [name for name in names if name in part.column_names]
            rows = part.take(at[mine] - self._starts[n], here)
            if "source_row" in rows:
                rows["source_row"] = [self._first[n] + row for row in rows["source_row"]]
            for name, values in rows.items():
                for place, value in zip(mine.tolist(), values, strict=True):
                    found[name][place] = value
        return found
