"""The ids of the rows of shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from alloykit.temporary.rows_at import Array


class ShardIds(Mapping[str, Array]):
    """Shard → the ids of its rows, [R, 16] uint8, read when they are asked for. Memory holds the names."""

    def __init__(self, rows_of: Mapping[str, int], read: Callable[[str], Array]) -> None:
        """rows_of: by shard, how many rows it has. read: the ids of a shard."""
        self.rows_of, self._read = rows_of, read

    def __len__(self) -> int:
        return len(self.rows_of)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows_of)

    def __contains__(self, name: object) -> bool:
        return name in self.rows_of

    def __getitem__(self, name: str) -> Array:
        if name not in self.rows_of:
            raise KeyError(name)
        return self._read(name)

    def rows(self, name: str) -> int:
        """How many rows a shard has."""
        return self.rows_of[name]
