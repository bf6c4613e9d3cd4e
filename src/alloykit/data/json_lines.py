"""Read JSON lines, and the columns of their records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from alloykit.data.file_formats import read_errors
from alloykit.data.limits import lines_of
from alloykit.errors import AlloyError

JSON_LINES = (
    "Write one object per line, also in a file that ends in .json: `df.to_json(FILE, orient='records', lines=True)` in pandas. "
    "`jq -c '.[]'` turns a list into that."
)


def json_records(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    """The object in each line that is not blank. AlloyError for a line without one."""
    with read_errors(path):
        for number, line in enumerate(lines_of(file, f"'{path}'"), start=1):
            if not line.strip():
                continue
            record, problem = None, ""
            try:
                record = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                problem = str(error)
            if not isinstance(record, dict):
                got = f"{problem or type(record).__name__} at line {number}"
                raise AlloyError(expected=f"one JSON object in each line of '{path}'", got=got, hint=JSON_LINES)
            if record and all(isinstance(value, dict) and "0" in value for value in record.values()):
                got = f"an object with a column in each key, at line {number}"
                raise AlloyError(expected=f"one JSON object in each line of '{path}'", got=got, hint=JSON_LINES)
            yield record


def all_keys(records: Iterable[Mapping[str, Any]], wanted: Sequence[str] = ()) -> list[str]:
    """The keys of all records in order. Reading stops as soon as all wanted keys were seen."""
    seen: dict[str, None] = {}
    for record in records:
        seen.update(dict.fromkeys(record))
        if wanted and seen.keys() >= set(wanted):
            break
    return list(seen)


def select_columns(records: Iterable[Mapping[str, Any]], wanted: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The wanted values of each record, None where it has none."""
    return ([record.get(name) for name in wanted] for record in records)
