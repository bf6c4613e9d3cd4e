"""A table of strings in a temporary file. It is read in pieces, so memory does not grow with the number of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.temporary.mapped_file import MappedFile

BATCH = 1000  # rows per read
WRITTEN = 1 << 15  # rows per write; each write costs some 2 KB of memory when the table is read
MAX_BLOCK = 16_000_000  # characters per write; Arrow's arrays hold 2 GiB
NEAR = 4  # rows that lie among so many times as many are picked from all of those


class DiskTable:
    """Columns by name, rows by position. Only the requested rows are in memory.

    `table["text"]` is the whole column as a list, `table[5]` a row as a dict; `batches` and `take` read in pieces,
    `select` is the same table with fewer rows. A pickled table reads the same file.
    """

    def __init__(self, file: MappedFile, positions: np.ndarray[Any, Any] | None = None, data: Any = None) -> None:
        """file: an Arrow stream. positions: which rows of it, in which order; all if not given. data: the file as a `datasets.Dataset`, if
        it is open already."""
        self._file, self._positions, self._data = file, positions, _opened(file) if data is None else data
        self._views = dict[tuple[str, ...], Any]()

    def __reduce__(self) -> Any:
        return DiskTable, (self._file, self._positions)

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return list(self._data.column_names)

    @property
    def schema(self) -> Any:
        """Arrow's names and types of the columns."""
        return self._data.data.schema

    def __len__(self) -> int:
        return len(self._data) if self._positions is None else len(self._positions)

    def __getitem__(self, which: str | int) -> Any:
        if isinstance(which, str):
            return [value for batch in self.batches([which]) for value in batch[which]]
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        return {name: values[0] for name, values in self.take([which % len(self)]).items()}

    def batches(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[dict[str, list[Any]]]:
        """All rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.take(range(start, min(start + size, len(self))), columns)

    def take(self, positions: Iterable[int], columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """The rows at these positions, in their order."""
        names = list(columns) if columns is not None else self.column_names
        at = np.asarray(positions if isinstance(positions, range | np.ndarray) else list(positions), dtype=np.int64)
        if not len(at):
            return {name: [] for name in names}
        at = at if self._positions is None else self._positions[at]
        self._file.mapped(2 * len(at) * len(names))  # the lengths of strings lie apart from them
        view, first, last = self._view(tuple(names)), int(at.min()), int(at.max())
        if last - first >= NEAR * len(at):
            return view[at.tolist()]  # type: ignore[no-any-return]
        found, picked = view[first : last + 1], (at - first).tolist()
        if picked == list(range(last - first + 1)):
            return found  # type: ignore[no-any-return]
        return {name: [values[i] for i in picked] for name, values in found.items()}

    def select(self, positions: Sequence[int] | np.ndarray[Any, Any]) -> DiskTable:
        """The same table with only the rows at these positions, in their order."""
        at = np.asarray(positions, dtype=np.int64)
        return DiskTable(self._file, at if self._positions is None else self._positions[at], self._data)

    def _view(self, names: tuple[str, ...]) -> Any:
        if names not in self._views:  # which takes longer than to read from it
            self._views[names] = self._data.select_columns(list(names))
        return self._views[names]


def _opened(file: MappedFile) -> Any:
    import datasets
    import pyarrow as pa

    reader, batches = pa.ipc.open_stream(pa.py_buffer(file.mapped(1))), []
    for batch in reader:  # reads what is where, nothing more
        batches.append(batch)
        file.mapped(1)
    table = pa.Table.from_batches(batches, reader.schema)
    return datasets.Dataset(table, fingerprint=str(file.path))  # without one, it reads all rows to compute one


class DiskWriter:
    """Takes rows one by one; `table` reads what was written."""

    def __init__(self, schema: Any) -> None:
        self.schema, self.buffer, self.characters = schema, list[tuple[Any, ...]](), 0
        self.file = MappedFile("the texts")
        self.file.write(schema.serialize())

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row, with a value for each column of the schema."""
        self.buffer.append(row)
        self.characters += sum(len(value) for value in row if isinstance(value, str))
        if len(self.buffer) >= WRITTEN or self.characters >= MAX_BLOCK:
            self._flush()

    def append(self, path: Path, size: int) -> None:
        """Add the rows of the first `size` bytes of another writer's file, which has the same schema. AlloyError where the disk is full."""
        self._flush()
        with path.open("rb") as file:
            done = file.seek(len(self.schema.serialize()))
            while done < size:
                piece = file.read(min(MAX_BLOCK, size - done))
                if not piece:
                    raise OSError(f"{path} ends at byte {done}, before byte {size}")
                self.file.write(piece)
                done += len(piece)

    def written(self) -> MappedFile:
        """The file, with all rows that were added."""
        self._flush()
        return self.file

    def table(self) -> DiskTable:
        """All rows that were added."""
        return DiskTable(self.written())

    def _flush(self) -> None:
        import pyarrow as pa

        if not self.buffer:
            return
        columns = [list(column) for column in zip(*self.buffer, strict=True)]
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, self.schema, strict=True)]
        self.file.write(pa.record_batch(arrays, schema=self.schema).serialize())
        self.buffer, self.characters = [], 0
