"""Read Parquet files, one row group after another, within limits of memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from alloykit.data.file_formats import read_errors
from alloykit.data.limits import MAX_ENTRIES, MAX_TEXT, cells_of, too_long, too_many
from alloykit.errors import AlloyError
from alloykit.names import short


def parquet_rows(
    path: Path, wanted: Sequence[str], *, nested: Collection[str] = (), groups: range | None = None
) -> Iterator[Sequence[Any]]:
    """The cells of these columns, row after row; one row group is read after another. nested: columns that may hold lists, maps and structs. groups:
    only these row groups. AlloyError for a damaged file, and for
    cells over the limits."""
    first = 0
    with read_errors(path), closing(OpenParquet(path, wanted)) as file:
        for group in range(file.groups) if groups is None else groups:
            for batch in file.batches(group, 1000):
                columns = (cells_of(batch.column(name), f"'{path}'", first, nested=name in nested) for name in wanted)
                yield from zip(*columns, strict=True)
                first += batch.num_rows


def parquet_groups(path: Path) -> list[int]:
    """How many rows each row group has. AlloyError."""
    with closing(OpenParquet(path, [])) as file:
        return [file.rows(group) for group in range(file.groups)]


class OpenParquet:
    """Some columns of a Parquet file. AlloyError for a damaged file, and for cells over the limits."""

    def __init__(self, path: Path, wanted: Sequence[str], *, short: Collection[str] = ()) -> None:
        """short: columns whose cells are known to be short."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self.wanted = path, list(wanted)
        with read_errors(path):
            schema = pq.read_schema(path)
            # Read as dictionaries: a small file may refer to one long string in many rows, and each row would be a copy of it. This is slow where the
            # strings differ.
            kinds = pa.string(), pa.large_string(), pa.string_view()
            strings = [name for name in wanted if name not in short and schema.field(name).type in kinds]
            self._file = pq.ParquetFile(path, read_dictionary=strings)
            _refuse_large_cells(self._file.metadata, wanted, f"'{path}'")

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return int(self._file.num_row_groups)

    def rows(self, group: int) -> int:
        """How many rows a row group has."""
        return int(self._file.metadata.row_group(group).num_rows)

    def batches(self, group: int, size: int) -> Iterator[Any]:
        """A row group as record batches of at most `size` rows. Of several groups at once, Arrow keeps what it has read."""
        with read_errors(self.path):
            yield from self._file.iter_batches(batch_size=size, columns=self.wanted, row_groups=[group])

    def close(self) -> None:
        self._file.close()


def _refuse_large_cells(metadata: Any, wanted: Sequence[str], where: str) -> None:
    """AlloyError if the mean size of a column's cells is over the limit. Nothing is decompressed before."""
    for n in range(metadata.num_row_groups):
        group = metadata.row_group(n)
        for column in (group.column(k) for k in range(group.num_columns)):
            room = (4 * MAX_TEXT + 100) * max(group.num_rows, 1)  # bytes; UTF-8 takes at most 4 for a character
            name = column.path_in_schema.split(".")[0] if column.path_in_schema not in wanted else column.path_in_schema
            if name in wanted and column.total_uncompressed_size > room:
                raise too_long("text", f"column '{short(name)}', row group {n} of {where}")
            if name in wanted and column.num_values > MAX_ENTRIES * max(group.num_rows, 1):
                raise too_many(f"column '{short(name)}', row group {n} of {where}")


def class_names(schema: Any, wanted: list[str], where: str) -> dict[str, list[str]]:
    """Names of labels that are stored as positions. `datasets` writes them into the metadata of a Parquet file."""
    stored = (schema.metadata or {}).get(b"huggingface")
    if stored is None:
        return {}
    names = {}
    try:
        features = json.loads(stored).get("info", {}).get("features") or {}
        for name in wanted:
            feature = features.get(name)
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
                names[name] = TypeAdapter(list[str]).validate_python(feature["names"], strict=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AlloyError(
            expected=f"the names of the labels in the `huggingface` metadata of {where}",
            got=f"metadata that is damaged ({type(error).__name__})",
            hint="Write the file again, or leave the metadata out: `table.replace_schema_metadata(None)` in pyarrow.",
        ) from error
    return names
