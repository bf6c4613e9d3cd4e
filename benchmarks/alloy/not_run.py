"""What of a table has no outcome yet, in few lines."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.harness.sections import Cells, command
from benchmarks.harness.table import Cell, Table


def not_run(table: Table, cells: Cells) -> list[str]:
    """By pool and seed; failed cells one by one."""
    lines = [f"- failed: {key}: {cell['error']}" for key, cell in cells.items() if cell["status"] == "failed"]
    every = list(table.cells())
    missing = [cell for cell in every if cell.key not in cells]
    if len(missing) == len(every):
        return [f"`{command(table)}`: all {len(every):,} cells.", ""]
    for pool, seed in sorted(
        {(c.pool, c.seed) for c in missing}, key=lambda part: (part[1], list(table.grid).index(part[0]))
    ):
        gone, there = ([c for c in some if (c.pool, c.seed) == (pool, seed)] for some in (missing, every))
        told = f"all {len(there)} cells" if len(gone) == len(there) else "; ".join(_by_setting(gone, there))
        lines.append(f"- seed {seed}, {pool}: {told}")
    heading = (
        f"`{command(table)}`: {len(missing):,} of {len(every):,} cells are not run yet."
        if missing
        else f"`{command(table)}`: complete."
    )
    return [heading, "", *lines, *([""] if lines else [])]


def _by_setting(gone: Sequence[Cell], there: Sequence[Cell]) -> list[str]:
    """Settings of which nothing is there together, then the others with what is not."""
    names = list(dict.fromkeys(c.setting for c in gone))
    methods = {name: [c.method for c in gone if c.setting == name] for name in names}
    whole = [name for name in names if len(methods[name]) == sum(c.setting == name for c in there)]
    parts = [f"{name} ({', '.join(methods[name])})" for name in names if name not in whole]
    return ([f"all of {', '.join(whole)}"] if whole else []) + parts
