"""The ids of the rows of shards, in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from alloykit.temporary.row_file import RowFile


class ShardIds(Mapping[str, np.ndarray[Any, Any]]):
    """Shard → the ids of its rows, [R, 16] uint8, read when it is asked for. Memory holds the names."""

    def __init__(self, names: Sequence[str], places: Mapping[str, tuple[int, int]], file: RowFile) -> None:
        """places: by shard, the first of its ids in the file and how many there are."""
        self._places, self._file = {name: places[name] for name in names}, file

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        first, rows = self._places[name]
        return self._file.between(first, first + rows)

    def rows(self, name: str) -> int:
        """How many rows a shard has."""
        return self._places[name][1]

    @property
    def total(self) -> int:
        """The rows of all shards."""
        return sum(rows for _, rows in self._places.values())
