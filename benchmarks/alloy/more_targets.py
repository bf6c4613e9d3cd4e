"""Targets in float32, which every CPU is fast in: of teachers whose labels are dealt a second and a third time, of overlapping ones, and of
two teachers of which one knows four times as many labels as the other one."""

from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import in_float32, settings, unevens
from benchmarks.alloy.targets_alone import targets_alone

TABLE = targets_alone(
    "more_targets",
    "Targets in float32",
    [*(s for s in settings() if in_float32(s)), *unevens()],
    replace(PROFILE, seeds=(0,)),
    seed_by_seed=True,
)
