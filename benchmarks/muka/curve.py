"""Does MUKA's gain over Vanilla KD grow with the number of texts? Table 1's setting on AG News, from 1,000 to all texts. Ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.harness.profiles import SMALL
from benchmarks.harness.settings import split
from benchmarks.harness.table import Cell, Table
from benchmarks.muka.methods import BASELINES, MUKA, TEACHERS, Methods

METHODS: Methods = {
    **TEACHERS,
    "routing-soft": {"name": "routing", "of": {"name": "muka", "mode": "soft"}},
    "vanilla_kd": BASELINES["vanilla_kd"],
    "muka-soft": MUKA["muka-soft"],
    "alloy": {"name": "alloy", "own_labels": 0.0},  # its eighth version
    "supervised": {"name": "supervised"},
}
SIZES = {1000: (0, 1, 2), 4000: (0, 1, 2), 16_000: (0, 1, 2), 62_760: (0,)}  # texts: seeds. 62,760 are all texts


def _table(texts: int, seeds: tuple[int, ...]) -> Table:
    return Table(
        "muka",
        f"curve-{texts}",
        f"{texts:,} texts",
        (split("ag_news", 2, "english-trimmed"),),
        {"shared": tuple(METHODS)},
        METHODS,
        part_of="curve",
        texts=texts,
        precision="bfloat16",
        profile=replace(SMALL, name="curve", seeds=seeds),
    )


@dataclass(frozen=True)
class Curve:
    """One table for each number of texts, the smallest first."""

    options: ClassVar = Table.options
    tables: tuple[Table, ...]
    title: str = "MUKA and Vanilla KD by number of texts"

    def selectable(self) -> list[Cell]:
        return [cell for table in self.tables for cell in table.cells()]

    def fill(self, data: Path, work: Path, *, retry: bool = False, **only: Sequence[Any]) -> None:
        for table in self.tables:
            table.fill(data, work, retry=retry, **only)


TABLE = Curve(tuple(_table(texts, seeds) for texts, seeds in SIZES.items()))
