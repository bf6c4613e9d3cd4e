"""A table: its declared grid, and the loop that fills it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloykit.jobs.run import environment
from alloykit.progress import say
from benchmarks.harness.cells import run_cell
from benchmarks.harness.data import SETS
from benchmarks.harness.profiles import Profile
from benchmarks.harness.results import Record
from benchmarks.harness.stages import Stages


@dataclass(frozen=True)
class Cell:
    pool: str
    dataset: str
    seed: int
    method: str

    @property
    def key(self) -> str:
        return f"{self.dataset}/{self.pool}/{self.seed}/{self.method}"


@dataclass(frozen=True)
class Table:
    """data set × pool × seed × method. `grid`: which methods each pool gets, in the order in which they run."""

    paper: str
    name: str
    title: str
    datasets: tuple[str, ...]
    grid: Mapping[str, Sequence[str]]
    methods: Mapping[str, dict[str, Any]]
    teachers: int = 2
    passes: int = 16  # Monte-Carlo passes of the shared sweep: as many as the hungriest method needs

    def cells(self, profile: Profile, **only: Sequence[Any]) -> Iterator[Cell]:
        """All cells, pool by pool; `only` keeps some values of pool, dataset, seed or method."""
        for pool, methods in self.grid.items():
            for dataset in self.datasets:
                for seed in profile.seeds:
                    for method in methods:
                        cell = Cell(pool, dataset, seed, method)
                        if all(getattr(cell, key) in kept for key, kept in only.items() if kept):
                            yield cell

    def configuration(self, profile: Profile) -> dict[str, Any]:
        """What a result depends on: compared with what a results file was made with."""
        sets = {name: {"labels": SETS[name].labels, "split": SETS[name].split(self.teachers)} for name in self.datasets}
        return {"profile": profile.described(), "datasets": sets, "methods": dict(self.methods)}

    def record(self, profile: Profile) -> Record:
        name = self.name if profile.name == "small" else f"{self.name}-{profile.name}"
        return Record(self.paper, name, self.configuration(profile))

    def fill(self, profile: Profile, data: Path, work: Path, *, retry: bool = False, **only: Sequence[Any]) -> None:
        """Run every cell that has no outcome yet (with `retry`, failed ones too). A failure is an outcome."""
        record = self.record(profile)
        cells = list(self.cells(profile, **only))
        stages: dict[tuple[str, int], Stages] = {}
        for n, cell in enumerate(cells, 1):
            done = record.cells().get(cell.key)
            if done is not None and not (retry and done["status"] == "failed"):
                continue
            say(f"[{n}/{len(cells)}] {cell.key}")
            try:
                part = (cell.dataset, cell.seed)
                if part not in stages:
                    stages[part] = Stages(
                        data, work, SETS[cell.dataset], profile, cell.seed, self.teachers, self.passes
                    )
                found = run_cell(stages[part], cell.pool, self.methods[cell.method])
            except Exception as error:  # a failure is published, and the other cells go on
                traceback.print_exc()
                found = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
            record.add(cell.key, found | {"environment": _machine()})


def _machine() -> dict[str, Any]:
    about = environment()
    return {"python": about["python"], "torch": about["packages"]["torch"], "transformers": about["packages"]["transformers"],
            "threads": about["threads"], "gpu": about["gpu"]}  # fmt: skip
