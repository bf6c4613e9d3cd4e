"""A table of strings in a temporary file, read in pieces: a million texts take no more memory than ten thousand."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from alloykit.files import scratch

BATCH = 1000  # rows that are read at a time


class DiskTable:
    """Columns by name, rows by position; nothing but the rows asked for is in memory.

    `table["text"]` is the whole column as a list, `table[5]` a row as a dict; `batches` and `take` read in pieces,
    `select` is the same table with fewer rows. The file has no name on the disk, so that nothing of it outlives the process.
    """

    def __init__(self, reader: Any, lock: threading.Lock, positions: np.ndarray[Any, Any] | None = None) -> None:
        self._reader, self._lock, self._positions = reader, lock, positions
        self.schema = reader.schema

    @property
    def column_names(self) -> list[str]:
        return list(self.schema.names)

    def __len__(self) -> int:
        return self._rows if self._positions is None else len(self._positions)

    @property
    def _rows(self) -> int:
        last = self._reader.num_record_batches - 1
        return int(last * BATCH + self._batch(last).num_rows) if last >= 0 else 0

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
        blocks = at[order] // BATCH
        for part in np.split(order, np.flatnonzero(np.diff(blocks)) + 1) if len(at) else []:
            batch = self._batch(int(at[part[0]] // BATCH))
            picked = batch.take((at[part] % BATCH).tolist())
            for name in names:
                for place, value in zip(part.tolist(), picked.column(name).to_pylist(), strict=True):
                    found[name][place] = value
        return found

    def select(self, positions: Sequence[int] | np.ndarray[Any, Any]) -> DiskTable:
        at = np.asarray(positions, dtype=np.int64)
        return DiskTable(self._reader, self._lock, at if self._positions is None else self._positions[at])

    def _batch(self, number: int) -> Any:
        with self._lock:  # the file has one position, and texts are read ahead in another thread
            return self._reader.get_batch(number)


class DiskWriter:
    """Takes rows one by one; `table` closes it and reads what it wrote."""

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        self.schema, self.buffer = schema, list[tuple[Any, ...]]()
        with scratch("the texts"):
            self.file = tempfile.TemporaryFile(prefix="alloykit-texts-")  # noqa: SIM115 - it lives as long as its table
            self.writer = pa.ipc.new_file(pa.PythonFile(self.file, mode="w"), schema)

    def add(self, row: tuple[Any, ...]) -> None:
        self.buffer.append(row)
        if len(self.buffer) >= BATCH:
            self._flush()

    def table(self) -> DiskTable:
        import pyarrow as pa

        self._flush()
        with scratch("the texts"):
            self.writer.close()
            self.file.flush()
        return DiskTable(pa.ipc.open_file(pa.PythonFile(self.file, mode="r")), threading.Lock())

    def _flush(self) -> None:
        import pyarrow as pa

        if not self.buffer:
            return
        columns = [list(column) for column in zip(*self.buffer, strict=True)]
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, self.schema, strict=True)]
        with scratch("the texts"):
            self.writer.write_batch(pa.record_batch(arrays, schema=self.schema))
        self.buffer = []
