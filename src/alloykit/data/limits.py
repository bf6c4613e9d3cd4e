"""The largest text, and readers that refuse a larger one before it fills the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from alloykit.errors import AlloyError

MAX_TEXT = 1_000_000  # characters of one text or of any other cell, about a long novel
MAX_ENTRIES = 100_000  # of a list or a mapping in one cell
MAX_LINE = 16 * MAX_TEXT  # characters of one line of JSON or one row of csv, with escapes and other columns


def too_long(what: str, where: str, length: int | None = None) -> AlloyError:
    """The error for a text over the limit. what: "text" or "line"; where: "row 3 of 'a.csv'"; length: in characters, if known."""
    limit = MAX_TEXT if what == "text" else MAX_LINE
    got = f"{length:,} characters" if length is not None else "more"
    return AlloyError(
        expected=f"at most {limit:,} characters in each {what}",
        got=f"{got} in {where}",
        hint="Shorten it: a model reads only the first few thousand characters. Check that no line break or quote is missing.",
    )


def lines_of(file: IO[str], where: str, limit: int = MAX_LINE) -> Iterator[str]:
    """The lines of a text file, each with its line break. AlloyError at the first line with more than `limit` characters."""
    number = 0
    while line := file.readline(limit + 2):  # a line break may have two characters
        number += 1
        if len(line.rstrip("\r\n")) > limit:
            raise too_long("text" if limit == MAX_TEXT else "line", f"line {number} of {where}")
        yield line


def too_many(where: str) -> AlloyError:
    """The error for a cell with more entries than the limit."""
    return AlloyError(expected=f"at most {MAX_ENTRIES:,} entries in each list or mapping", got=f"more in {where}")


def cells_of(column: Any, where: str, first: int, *, nested: bool = False) -> list[Any]:
    """The values of an Arrow array or chunked array as Python values. Equal strings of a dictionary array are one object.

    where: the file or data set; first: the number of the first row, for messages. AlloyError for a string over the limit
    (its length is checked in Arrow, before it is copied to Python), for columns of bytes, and for columns of lists, mappings and structs
    unless `nested`; then also for cells with too many entries.
    """
    import pyarrow as pa

    found: list[Any] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if isinstance(chunk, pa.ExtensionArray):
            chunk = chunk.storage
        if isinstance(chunk, pa.DictionaryArray):
            found += _dictionary_cells(chunk, where, first + len(found))
        else:
            if nested and pa.types.is_nested(chunk.type):
                _check_entries(chunk, where)
            elif (long := _over_limit(chunk, where)) is not None:
                raise too_long("text", f"row {first + len(found) + long} of {where}")
            found += chunk.to_pylist()
    return found


def _check_entries(chunk: Any, where: str) -> None:
    """AlloyError for an array whose lists or mappings have too many entries or too long texts, also inside others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = chunk.type
    if pa.types.is_struct(kind):
        parts = chunk.flatten()
    elif pa.types.is_map(kind):
        parts = [chunk.keys, chunk.items]
        if (
            len(chunk)
            and max(b - a for a, b in zip(chunk.offsets.to_pylist(), chunk.offsets.to_pylist()[1:], strict=False))
            > MAX_ENTRIES
        ):
            raise too_many(where)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        parts = [chunk.flatten()]
        if (pc.max(pc.list_value_length(chunk)).as_py() or 0) > MAX_ENTRIES:
            raise too_many(where)
    else:
        raise AlloyError(expected=f"columns of text, numbers, lists or mappings in {where}", got=f"one of type {kind}")
    for part in parts:
        if pa.types.is_nested(part.type):
            _check_entries(part, where)
        elif _over_limit(part, where) is not None:
            raise too_long("text", where)


def _dictionary_cells(chunk: Any, where: str, first: int) -> list[Any]:
    indices = chunk.indices
    used = indices.unique().drop_null()  # a dictionary may hold many more values than these rows use
    place = {index: n for n, index in enumerate(used.to_pylist())}
    rows = indices.to_pylist()
    values = chunk.dictionary.take(used)
    if (long := _over_limit(values, where)) is not None:
        raise too_long("text", f"row {first + rows.index(used[long].as_py())} of {where}")
    words = values.to_pylist()
    return [None if i is None else words[place[i]] for i in rows]


def _over_limit(values: Any, where: str) -> int | None:
    """The position of the longest string, if it is over the limit. AlloyError for an array of lists, structs or bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        raise AlloyError(expected=f"columns of text or numbers in {where}", got=f"one of type {values.type}")
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    lengths = pc.utf8_length(values)
    longest = pc.max(lengths).as_py() or 0
    return int(pc.index(lengths, longest).as_py()) if longest > MAX_TEXT else None
