"""A table: its declared grid, and the loop that fills it."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from alloykit.precision import Precision
from alloykit.progress import log_line
from alloykit.run_folder.run_folder import environment
from benchmarks.harness.cells import Analysis, run_cell
from benchmarks.harness.data import MissingData
from benchmarks.harness.profiles import SMALL, Profile
from benchmarks.harness.results import RESULTS, Record
from benchmarks.harness.selection import selected
from benchmarks.harness.settings import Setting
from benchmarks.harness.stages import Stages

PAPER = "-paper"  # how the records of tables with a paper's own settings end


@dataclass(frozen=True)
class Cell:
    pool: str
    setting: str
    seed: int
    method: str

    @property
    def key(self) -> str:
        return f"{self.setting}/{self.pool}/{self.seed}/{self.method}"


@dataclass(frozen=True)
class Table:
    """setting × pool × seed × method. `grid`: which methods each pool gets, in the order in which they run."""

    options: ClassVar = ("setting", "pool", "method", "seed")
    paper: str
    name: str
    title: str
    settings: tuple[Setting, ...]
    grid: Mapping[str, Sequence[str]]
    methods: Mapping[str, dict[str, Any]]
    passes: int | Mapping[str, int] = (
        16  # Monte-Carlo passes of the shared sweep (by pool): as many as the method with the most passes needs
    )
    reads: Sequence[dict[str, Any]] = ()  # methods whose teachers' outputs the shared sweep computes too
    precision: Precision = "float32"  # the same on every CPU; bfloat16 is slow where it is not native
    texts: int | None = None  # per data set, in place of the profile's
    test: int | None = None
    student: Mapping[str, Any] = field(default_factory=dict)  # of the students' training, in place of the profile's
    limited: Mapping[str, Sequence[str]] = field(default_factory=dict)  # pools that only some settings have
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)  # settings that only some methods run in
    seeds: Mapping[str, Sequence[int]] = field(
        default_factory=dict
    )  # of settings, or of SETTING/POOL, that have others than the profile's
    seed_by_seed: bool = False  # order of the cells: all of a seed first, setting by setting; else pool by pool
    generation: Mapping[str, Any] = field(default_factory=dict)  # the `generation:` block behind pools without data
    analyses: Mapping[str, Analysis] = field(default_factory=dict)
    profile: Profile = SMALL
    part_of: str | None = None  # the command's name of a table that is one of several; None: its own name
    stated: Mapping[str, Any] | None = (
        None  # this table's fields as the paper states them, with `profile`; None: it is the table of no paper
    )

    @property
    def as_stated(self) -> Table | None:
        """The same table with the paper's own settings, for a GPU and the hub, recorded as NAME-paper. No setting that makes this table small is kept."""
        if self.stated is None:
            return None
        whole: dict[str, Any] = {
            "texts": None,
            "test": None,
            "student": {},
            "seeds": {},
            "generation": {},
            "stated": None,
        }
        return replace(self, **whole | {"name": f"{self.name}{PAPER}"} | dict(self.stated))

    def cells(self, **only: Sequence[Any]) -> Iterator[Cell]:
        """All cells in their order; `only` keeps some values of pool, setting, seed or method."""
        cells = selected(self._by_pool(), only)
        if self.seed_by_seed:
            place = {setting.name: n for n, setting in enumerate(self.settings)}
            cells.sort(
                key=lambda cell: (cell.seed, place[cell.setting])
            )  # stable: pools and methods stay in their order
        yield from cells

    def selectable(self) -> list[Cell]:
        return list(self.cells())

    def _by_pool(self) -> Iterator[Cell]:
        for pool in self.grid:
            for setting in (s for s in self.settings if s.name in self.limited.get(pool, [s.name])):
                for seed in self.seeds_of(setting.name, pool):
                    for method in self.methods_of(setting.name, pool):
                        yield Cell(pool, setting.name, seed, method)

    def methods_of(self, setting: str, pool: str) -> list[str]:
        """In the order in which they run."""
        return [method for method in self.grid[pool] if method in self.only.get(setting, [method])]

    def seeds_of(self, setting: str, pool: str) -> Sequence[int]:
        return self.seeds.get(f"{setting}/{pool}", self.seeds.get(setting, self.profile.seeds))

    @property
    def roles(self) -> set[str]:
        """Of all teachers and students."""
        students = {m["student"] for m in self.methods.values() if "student" in m}
        return {role for setting in self.settings for role in setting.roles} | students

    def configuration(self) -> dict[str, Any]:
        """What a result depends on: compared with what a results file was made with."""
        settings = {setting.name: setting.described(self.profile) for setting in self.settings}
        about = {"profile": self.sized.described(self.roles), "settings": settings, "methods": dict(self.methods)}
        return about | ({"generation": dict(self.generation)} if self.generation else {})

    @property
    def sized(self) -> Profile:
        """The profile, with the sizes that this table has in their place."""
        return replace(
            self.profile, precision=self.precision, student=self.profile.student | dict(self.student),
            texts=self.texts or self.profile.texts, test=self.test or self.profile.test,
        )  # fmt: skip

    def stages(self, setting: Setting, seed: int, data: Path, work: Path) -> Stages:
        """What the cells of one setting and seed share."""
        return Stages(
            data, work, setting, self.sized, seed, passes=self.passes, reads=self.reads, generation=dict(self.generation)
        )  # fmt: skip

    def record(self, results: Path = RESULTS) -> Record:
        return Record(self.paper, self.name, self.configuration(), results)

    def fill(
        self, data: Path, work: Path, *, retry: bool = False, results: Path = RESULTS, **only: Sequence[Any]
    ) -> None:
        """Run every cell that has no outcome yet (with `retry`, failed ones too). A failure is an outcome, except for MissingData."""
        record = self.record(results)
        cells = list(self.cells(**only))
        stages: dict[tuple[str, int], Stages] = {}
        gc.freeze()  # every sweep collects garbage; this leaves out the libraries' objects
        for n, cell in enumerate(cells, 1):
            done = record.cells().get(cell.key)
            if done is not None and not (retry and done["status"] == "failed"):
                continue
            log_line(f"[{n}/{len(cells)}] {cell.key}")
            try:
                part = (cell.setting, cell.seed)
                if part not in stages:
                    setting = next(s for s in self.settings if s.name == cell.setting)
                    stages[part] = self.stages(setting, cell.seed, data, work)
                found = run_cell(stages[part], cell.pool, self.methods[cell.method], self.analyses)
            except MissingData:
                raise
            except Exception as error:  # a failure is published, and the next cell runs
                traceback.print_exc()
                message = str(error).replace(f"{work}/", "")  # published: no path of this machine
                found = {"status": "failed", "error": f"{type(error).__name__}: {message}"}
            record.add(cell.key, found | {"environment": machine()})


def machine() -> dict[str, Any]:
    about = environment()
    return {"python": about["python"], "torch": about["packages"]["torch"], "transformers": about["packages"]["transformers"],
            "threads": about["threads"], "gpu": about["gpu"]}  # fmt: skip
