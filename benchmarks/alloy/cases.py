"""One setting and pool of a table: Alloy, oracle routing, and the best rival, which is chosen after the fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from benchmarks.alloy import students, targets
from benchmarks.alloy.methods import PASSES, RIVAL_STUDENTS, RIVALS, TITLES
from benchmarks.alloy.scores import Bits, bits
from benchmarks.alloy.settings import CHOICE, LATER, in_order
from benchmarks.harness.results import numbers
from benchmarks.harness.sections import Cells
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import balanced, difference
from benchmarks.harness.table import Table

MAIN = "disjoint"  # the pool that every setting has
NO_GAP = 0.01  # where oracle routing gains less than a point, a share of it says nothing


@dataclass(frozen=True)
class Outcome:
    """A method's answers to the test texts of one setting, pool and seed. `right`: [n] bool, `labels`: [n]."""

    right: Bits
    labels: Bits

    @cached_property
    def accuracy(self) -> float:
        return float(self.right.mean())

    @cached_property
    def balanced(self) -> float:
        return balanced(self.right, self.labels)


Outcomes = Mapping[int, Mapping[str, Outcome]]  # by seed and method


@dataclass(frozen=True)
class Case:
    """`outcomes`: of the seeds that have Alloy, oracle routing and all rivals; it is not empty."""

    setting: Setting
    pool: str
    rivals: Sequence[str]
    outcomes: Outcomes

    @property
    def kind(self) -> str:
        """Of its sets: "choice" if one of them is a set of the choice, "later" if one was tried after the ninth version, else "reported"."""
        names = self.setting.datasets
        kinds = {"choice": CHOICE, "later": LATER}
        return next((kind for kind, sets in kinds.items() if any(name in sets for name in names)), "reported")

    @property
    def best(self) -> str:
        """The rival that is right most often, in the mean over the seeds."""
        return max(
            self.rivals, key=lambda name: float(np.mean([found[name].accuracy for found in self.outcomes.values()]))
        )

    @property
    def best_balanced(self) -> float:
        """The highest balanced accuracy of a rival, in the mean over the seeds. It may be of another rival than `best`."""
        return max(self.mean(name, "balanced") for name in self.rivals)

    @property
    def which(self) -> str:
        return TITLES[self.best]

    def of(self, method: str) -> list[Outcome]:
        """By seed; `best` is the best rival."""
        name = self.best if method == "best" else method
        return [found[name] for found in self.outcomes.values()]

    def mean(self, method: str, what: str = "accuracy") -> float:
        return float(np.mean([getattr(outcome, what) for outcome in self.of(method)]))

    def less(self, method: str) -> dict[str, float]:
        """Alloy minus another method: difference, low, high and p."""
        ours, theirs = self.of("alloy"), self.of(method)
        return difference([o.right for o in ours], [o.right for o in theirs], self._same_texts)

    @property
    def gained(self) -> float:
        return self.mean("alloy") - self.mean("best")

    @property
    def gap(self) -> float:
        return self.mean("oracle") - self.mean("best")

    @property
    def _same_texts(self) -> bool:
        labels = [outcome.labels for outcome in self.of("alloy")]
        return all(np.array_equal(labels[0], other) for other in labels)


def student_cases(cells: Cells, pool: str, table: Table = students.TABLE) -> list[Case]:
    def rivals(setting: str) -> list[str]:
        return [name for name in table.methods_of(setting, pool) if name in RIVAL_STUDENTS]

    return _cases(cells, pool, in_order(table.settings), rivals, partial(student_outcomes, table=table))


def target_cases(cells: Cells, pool: str, table: Table = targets.TABLE) -> list[Case]:
    names = [name for name in RIVALS if name != "muka-soft" or PASSES[pool]]
    return _cases(cells, pool, in_order(table.settings), lambda _: names, partial(target_outcomes, table=table))


def student_outcomes(
    cells: Cells, setting: str, pool: str, table: Table = students.TABLE
) -> dict[int, dict[str, Outcome]]:
    """Of the seeds that have the true labels."""
    found: dict[int, dict[str, Outcome]] = {}
    for seed in table.seeds_of(setting, pool):
        done = _done(cells, setting, pool, seed)
        if "teachers" in done:
            labels = np.array(numbers(done.pop("teachers")["labels"]))
            found[seed] = {
                name: Outcome(np.array(numbers(cell["answers"])) == labels, labels) for name, cell in done.items()
            }
    return found


def target_outcomes(
    cells: Cells, setting: str, pool: str, table: Table = targets.TABLE
) -> dict[int, dict[str, Outcome]]:
    """Of the seeds that have the true labels; the supervised gate is among the methods, and Alloy's variants."""
    found: dict[int, dict[str, Outcome]] = {}
    for seed in table.seeds_of(setting, pool):
        done = _done(cells, setting, pool, seed)
        if "rivals" in done:
            about = done.pop("rivals")
            labels = np.array(numbers(about["labels"]))
            found[seed] = {
                name: Outcome(bits(way["test"]["right"], len(labels)), labels)
                for name, way in (about["ways"] | done).items()
            }
    return found


def _cases(
    cells: Cells,
    pool: str,
    settings: Sequence[Setting],
    rivals_of: Callable[[str], Sequence[str]],
    outcomes: Callable[[Cells, str, str], dict[int, dict[str, Outcome]]],
) -> list[Case]:
    """Set by set; a setting is there with the seeds that are complete."""
    found = []
    for setting in settings:
        rivals = rivals_of(setting.name)
        needed = {*rivals, "alloy", "oracle"}
        whole = {seed: each for seed, each in outcomes(cells, setting.name, pool).items() if needed <= each.keys()}
        if whole:
            found.append(Case(setting, pool, rivals, whole))
    return found


def _done(cells: Cells, setting: str, pool: str, seed: int) -> dict[str, Any]:
    """The finished cells by method."""
    mark = f"{setting}/{pool}/{seed}/"
    return {
        key.removeprefix(mark): cell for key, cell in cells.items() if key.startswith(mark) and cell["status"] == "done"
    }
