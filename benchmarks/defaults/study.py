"""A list of students to train, and the loop that trains those that have no outcome yet."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from alloykit.progress import log_line
from benchmarks.defaults.students import student
from benchmarks.defaults.world import TEACHER, TEACHING, TEST, Set, World
from benchmarks.harness.data import MissingData
from benchmarks.harness.results import Record, commit
from benchmarks.harness.selection import selected
from benchmarks.harness.table import machine

DEFAULT = "default"


@dataclass(frozen=True)
class Cell:
    """A student; without `rate` and `epochs` it is trained as a recipe that says nothing of either. `encoder`: see `World.model`."""

    name: str
    size: int
    layers: int
    seed: int
    rate: float | None = None
    epochs: float | None = None
    watch: bool = False
    encoder: str = ""
    precision: str = "float32"

    @property
    def key(self) -> str:
        how = DEFAULT if self.rate is None else f"{self.rate:g} x {self.epochs:g}"
        return f"{self.name}/{self.size}/{self.layers}/{self.seed}/{how}{f'/{self.encoder}' if self.encoder else ''}"

    @property
    def setting(self) -> str:
        return self.name

    @property
    def training(self) -> dict[str, Any]:
        own = {} if self.rate is None else {"learning_rate": self.rate, "epochs": self.epochs}
        return {"seed": self.seed, "precision": self.precision, **own}


@dataclass(frozen=True)
class Study:
    """`fill` trains the students in the order in which they are listed.

    drop: a rate and a number of epochs that were further below the best of their set with the first seed are left out with the
    others: they cannot be the best in the mean. 1: none.
    """

    options: ClassVar = ("setting", "seed")
    name: str
    title: str
    sets: Sequence[Set]
    cells: Sequence[Cell]
    paper: str = "defaults"
    drop: float = 1.0

    def record(self) -> Record:
        about = {
            "test": TEST,
            "teacher": TEACHER,
            "teaching": TEACHING,
            "settings": {s.name: s.described() for s in self.sets},
        }
        return Record(self.paper, self.name, about)

    def selectable(self) -> Sequence[Cell]:
        return self.cells

    def fill(self, data: Path, work: Path, *, retry: bool = False, **only: Sequence[Any]) -> None:
        """Train every student that has no outcome yet (with `retry`, failed ones too). A failure is an outcome, except for MissingData."""
        torch.set_num_threads(1)
        record = self.record()
        cells = selected(self.cells, {key: only.get(key) for key in self.options})
        worlds = {s.name: World(data, work, s) for s in self.sets}
        for n, cell in enumerate(cells, 1):
            done = record.cells().get(cell.key)
            if done is not None and not (retry and done["status"] == "failed"):
                continue
            if self.dropped(cell, record.cells()):
                log_line(f"[{n}/{len(cells)}] {cell.key} is left out: too far below the best with the first seed")
                continue
            log_line(f"[{n}/{len(cells)}] {cell.key}")
            try:
                found = student(
                    worlds[cell.name], cell.size, cell.layers, cell.training, watch=cell.watch, encoder=cell.encoder
                )
                found = {"status": "done", "commit": commit(), **found}
            except MissingData:
                raise
            except Exception as error:  # a failure is published, and the other cells go on
                traceback.print_exc()
                found = {"status": "failed", "error": f"{type(error).__name__}: {str(error).replace(f'{work}/', '')}"}
            record.add(cell.key, found | {"environment": machine()})
            log_line(
                f"{cell.key}: {found.get('balanced_accuracy')} of {found.get('balanced_routing')}, {found.get('seconds')} s"
            )

    def dropped(self, cell: Cell, done: Mapping[str, Any]) -> bool:
        """Whether a cell is left out for what came of it with the first seed. The default never is."""
        first = min(c.seed for c in self.cells)
        if cell.rate is None or cell.seed == first:
            return False
        same = [
            c for c in self.cells if (c.name, c.size, c.layers, c.seed) == (cell.name, cell.size, cell.layers, first)
        ]
        found = {
            (c.rate, c.epochs): done[c.key]["balanced_accuracy"]
            for c in same
            if c.rate is not None and done.get(c.key, {}).get("status") == "done"
        }
        own = found.get((cell.rate, cell.epochs))
        return own is not None and own < max(found.values()) - self.drop
