"""A table of strings in a temporary file. It is read in pieces, so memory does not grow with the number of texts."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from alloykit.files import scratch

BATCH = 1000  # rows per read
MAX_BLOCK = 16_000_000  # characters per write; Arrow's arrays hold 2 GiB


class DiskTable:
    """Columns by name, rows by position. Only the requested rows are in memory.

    `table["text"]` is the whole column as a list, `table[5]` a row as a dict; `batches` and `take` read in pieces,
    `select` is the same table with fewer rows. The file has no name on the disk, so that nothing of it outlives the process.
    """

    def __init__(
        self,
        reader: Any,
        lock: threading.Lock,
        starts: np.ndarray[Any, Any],
        positions: np.ndarray[Any, Any] | None = None,
    ) -> None:
        """starts: the first row of each block of the file, then the number of rows."""
        self._reader, self._lock, self._starts, self._positions = reader, lock, starts, positions
        self.schema = reader.schema

    @property
    def column_names(self) -> list[str]:
        return list(self.schema.names)

    def __len__(self) -> int:
        return int(self._starts[-1]) if self._positions is None else len(self._positions)

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
        at = np.asarray(list(positions) if not isinstance(positions, np.ndarray) else positions, dtype=np.int64)
        at = at if self._positions is None else self._positions[at]
        found: dict[str, list[Any]] = {name: [None] * len(at) for name in names}
        order = np.argsort(at, kind="stable")
        blocks = np.searchsorted(self._starts, at[order], side="right") - 1
        for part in np.split(order, np.flatnonzero(np.diff(blocks)) + 1) if len(at) else []:
            block = int(np.searchsorted(self._starts, at[part[0]], side="right")) - 1
            picked = self._batch(block).take((at[part] - self._starts[block]).tolist())
            for name in names:
                for place, value in zip(part.tolist(), picked.column(name).to_pylist(), strict=True):
                    found[name][place] = value
        return found

    def select(self, positions: Sequence[int] | np.ndarray[Any, Any]) -> DiskTable:
        at = np.asarray(positions, dtype=np.int64)
        at = at if self._positions is None else self._positions[at]
        return DiskTable(self._reader, self._lock, self._starts, at)

    def _batch(self, number: int) -> Any:
        with self._lock:  # the file has one position, and texts are read ahead in another thread
            return self._reader.get_batch(number)


class DiskWriter:
    """Takes rows one by one; `table` closes it and reads what it wrote."""

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        self.schema, self.buffer, self.characters, self.starts = schema, list[tuple[Any, ...]](), 0, [0]
        with scratch("the texts"):
            self.file = tempfile.TemporaryFile(prefix="alloykit-texts-")  # noqa: SIM115 - it lives as long as its table
            self.writer = pa.ipc.new_file(pa.PythonFile(self.file, mode="w"), schema)

    def add(self, row: tuple[Any, ...]) -> None:
        self.buffer.append(row)
        self.characters += sum(len(value) for value in row if isinstance(value, str))
        if len(self.buffer) >= BATCH or self.characters >= MAX_BLOCK:
            self._flush()

    def table(self) -> DiskTable:
        import pyarrow as pa

        self._flush()
        with scratch("the texts"):
            self.writer.close()
            self.file.flush()
        reader = pa.ipc.open_file(pa.PythonFile(self.file, mode="r"))
        return DiskTable(reader, threading.Lock(), np.array(self.starts, dtype=np.int64))

    def _flush(self) -> None:
        import pyarrow as pa

        if not self.buffer:
            return
        columns = [list(column) for column in zip(*self.buffer, strict=True)]
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, self.schema, strict=True)]
        with scratch("the texts"):
            self.writer.write_batch(pa.record_batch(arrays, schema=self.schema))
        self.starts.append(self.starts[-1] + len(self.buffer))
        self.buffer, self.characters = [], 0
