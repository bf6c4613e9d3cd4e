"""Students of Alloy and of its rivals, trained with alloykit's default learning rate and number of epochs."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.profile import PRECISION, PROFILE
from benchmarks.alloy.settings import FEW_POOLS, POOLS, few, settings
from benchmarks.harness.table import Table

TABLE = Table(
    "alloy",
    "students",
    "Students",
    settings(),
    {pool: tuple(STUDENTS) if pool == "disjoint" else CORE for pool in POOLS if pool != "foreign10"},
    STUDENTS,
    passes=PASSES,
    limited={pool: few() for pool in FEW_POOLS},
    precision=PRECISION,
    seed_by_seed=True,
    profile=PROFILE,
)
