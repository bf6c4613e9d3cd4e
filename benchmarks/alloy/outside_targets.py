"""Targets of the teachers of `outside`: also where no student was trained, and how exactly the run estimates their accuracy."""

from benchmarks.alloy import outside
from benchmarks.alloy.targets_alone import targets_alone

TABLE = targets_alone(
    "outside_targets",
    "Later sets: targets",
    outside.SETTINGS,
    outside.SIZED,
)
