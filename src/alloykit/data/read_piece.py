"""A process that reads pieces of Parquet files for another one (read_parallel.py): one request per line of its input, one answer per line of its output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from alloykit.data.raw_tables import rows_of
from alloykit.data.readers import read_file
from alloykit.data.table import RowCollector
from alloykit.data.texts_options import ColumnOptions


def answer_requests() -> None:
    """Read each requested piece into a temporary file, until the input ends. The last piece's file is removed at the next request."""
    settings, columns = json.loads(next(sys.stdin))
    options, kept = ColumnOptions.model_validate(settings), list[Any]()
    for line in sys.stdin:
        kept.clear()
        path, groups, first = json.loads(line)
        collector = RowCollector(options, columns)
        collector.total = first
        for table, row in rows_of([read_file(Path(path), list(columns.values()), groups=range(*groups))], columns):
            collector.add(table, row)
        file = collector.rows.written()
        kept.append(file)
        answer = {"path": str(file.path), "bytes": file.size, "unusable": collector.unusable}
        print(json.dumps(answer), flush=True)
