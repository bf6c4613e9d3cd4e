"""A table of targets in pool disjoint: the rivals, Alloy, and what Alloy does without its mixture. No students, and no variants of Alloy."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ALLOY, BY_ENERGY, PASSES, Methods
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.profiles import Profile
from benchmarks.harness.settings import Setting
from benchmarks.harness.table import Table

POOL = "disjoint"
METHODS: Methods = {
    "rivals": {"name": "rivals"},
    "alloy": {"name": "target of alloy", "of": ALLOY},
    "by_energy": {"name": "target by energy", "of": BY_ENERGY},
}


def targets_alone(name: str, title: str, settings: Sequence[Setting], profile: Profile, **more: Any) -> Table:
    """more: further arguments of the table."""
    return Table(
        "alloy",
        name,
        title,
        tuple(settings),
        {POOL: tuple(METHODS)},
        METHODS,
        passes=PASSES,
        reads=(EARLY, {"name": "routing", "of": ALLOY}),
        analyses={
            "rivals": rivals,
            "target of alloy": partial(target, spec=ALLOY),
            "target by energy": partial(target, spec=BY_ENERGY),
        },
        profile=profile,
        **more,
    )
