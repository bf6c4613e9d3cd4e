"""A table of strings in a temporary file. It is read in pieces, so memory does not grow with the number of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from alloykit.data.text_table import TextTable
from alloykit.temporary.mapped_file import MappedFile
from alloykit.temporary.rows_at import Array

WRITTEN = 1 << 15  # rows per write; each write costs some 2 KB of memory when the table is read
MAX_BLOCK = 16_000_000  # characters per write; Arrow's arrays hold 2 GiB
NEAR = 4  # rows that lie among so many times as many are picked from all of those


class DiskTable(TextTable):
    """A `TextTable` in a temporary file."""

    def __init__(self, file: MappedFile, positions: Array | None = None, data: Any = None) -> None:
        """file: an Arrow stream. positions: which rows of it, in which order; all if not given. data: the file as a `datasets.Dataset`, if
        it is open already."""
        super().__init__(positions)
        self._file, self._data = file, _opened(file) if data is None else data
        self._views = dict[tuple[str, ...], Any]()

    def __reduce__(self) -> Any:
        return DiskTable, (self._file, self._positions)

    @property
    def column_names(self) -> list[str]:
        return list(self._data.column_names)

    @property
    def schema(self) -> Any:
        """Arrow's names and types of the columns."""
        return self._data.data.schema

    def hold(self, positions: Array, columns: Sequence[str]) -> None:
        pass  # they are quick to read

    def _rows(self) -> int:
        return len(self._data)

    def _read(self, at: Array, names: Sequence[str]) -> dict[str, list[Any]]:
        self._file.mapped(2 * len(at) * len(names))  # the lengths of strings lie apart from them
        view, first, last = self._view(tuple(names)), int(at.min()), int(at.max())
        if last - first >= NEAR * len(at):
            return view[at.tolist()]  # type: ignore[no-any-return]
        found, picked = view[first : last + 1], (at - first).tolist()
        if picked == list(range(last - first + 1)):
            return found  # type: ignore[no-any-return]
        return {name: [values[i] for i in picked] for name, values in found.items()}

    def _selected(self, positions: Array) -> Self:
        return type(self)(self._file, positions, self._data)

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

    def write(self, batch: Any) -> None:
        """Add the rows of a record batch with this schema. AlloyError where the disk is full."""
        self._flush()
        self.file.write(batch.serialize())

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
