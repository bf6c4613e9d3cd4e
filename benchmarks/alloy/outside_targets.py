"""Targets of the teachers of `outside`: also where no student was trained, and how exactly the run estimates their accuracy."""

from benchmarks.alloy import outside
from benchmarks.alloy.targets_alone import targets_alone

TABLE = targets_alone(
    "outside_targets",
    "Sets that were tried after the last version: targets",
    outside.SETTINGS,
    outside.SIZED,
)
