"""How much of the spread comes from the student's seed: two more students of the same teachers and texts, for three methods."""

from typing import Any

from benchmarks.alloy.methods import SIZES, STUDENTS, settings
from benchmarks.alloy.students import CHOICE, WHOLE
from benchmarks.harness.table import Table

TARGETS = CHOICE[1:]
STUDENT_SEEDS = (101, 102)  # beside the seed of the texts and teachers, which table `students` has


def named(target: str, seed: int) -> str:
    return f"{target}-{seed}"


METHODS: dict[str, dict[str, Any]] = {
    named(target, seed): STUDENTS[target] | {"training": {"seed": seed}} for target in TARGETS for seed in STUDENT_SEEDS
}
TABLE = Table(
    "alloy",
    "seeds",
    "Seeds of teachers and of students",
    tuple(s for s in settings() if s.name in WHOLE),
    {"disjoint": tuple(METHODS)},
    METHODS,
    **SIZES,
)
