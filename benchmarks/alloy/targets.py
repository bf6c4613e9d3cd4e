"""Targets of Alloy, of its rivals and of its variants, on six pools. No students."""

from functools import partial

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ABLATIONS, ALLOY, PASSES, Methods
from benchmarks.alloy.profile import PRECISION, PROFILE
from benchmarks.alloy.settings import POOLS, few, in_float32, settings, varied
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.table import Table

OURS: Methods = {
    "alloy": ALLOY,
    **ABLATIONS,
}  # a cell of its own each: another variant leaves the finished cells as they are
SETTINGS = tuple(s for s in settings() if not in_float32(s))  # the others are in more_targets
METHODS: Methods = {"rivals": {"name": "rivals"}} | {
    name: {"name": f"target of {name}", "of": spec} for name, spec in OURS.items()
}
TABLE = Table(
    "alloy",
    "targets",
    "Targets",
    SETTINGS,
    {pool: tuple(METHODS) for pool in POOLS},
    METHODS,
    passes=PASSES,
    reads=(EARLY, *({"name": "routing", "of": spec} for spec in OURS.values())),
    analyses={"rivals": rivals} | {f"target of {name}": partial(target, spec=spec) for name, spec in OURS.items()},
    limited={pool: few() for pool in POOLS if pool != "disjoint"},
    only=dict.fromkeys(varied(SETTINGS), ("rivals", "alloy")),
    seeds=dict.fromkeys(varied(SETTINGS), range(1))
    | {f"{name}/{pool}": range(2) for name in few() for pool in POOLS[1:]},
    precision=PRECISION,
    seed_by_seed=True,
    profile=PROFILE,
)
