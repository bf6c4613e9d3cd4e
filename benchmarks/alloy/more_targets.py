"""Targets in float32, which every CPU is fast in: of teachers whose labels are dealt a second and a third time, of overlapping ones, and of
two teachers of which one knows four times as many labels as the other one."""

from dataclasses import replace
from functools import partial

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ALLOY, BY_ENERGY, PASSES, Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import in_float32, settings, unevens
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.table import Table

POOL = "disjoint"
METHODS: Methods = {
    "rivals": {"name": "rivals"},
    "alloy": {"name": "target of alloy", "of": ALLOY},
    "by_energy": {"name": "target by energy", "of": BY_ENERGY},
}

TABLE = Table(
    "alloy",
    "more_targets",
    "Targets in float32",
    (*(s for s in settings() if in_float32(s)), *unevens()),
    {POOL: tuple(METHODS)},
    METHODS,
    passes=PASSES,
    reads=(EARLY, {"name": "routing", "of": ALLOY}),
    analyses={
        "rivals": rivals,
        "target of alloy": partial(target, spec=ALLOY),
        "target by energy": partial(target, spec=BY_ENERGY),
    },
    seed_by_seed=True,
    profile=replace(PROFILE, seeds=(0,)),
)
