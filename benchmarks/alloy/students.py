"""Students of Alloy and of its rivals, trained with alloykit's default learning rate and number of epochs."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.profile import PRECISION, PROFILE
from benchmarks.alloy.settings import CLOSE, POOLS, few, settings, varied
from benchmarks.harness.table import Table

SETTINGS = tuple(s for s in settings() if not s.name.endswith(("-deal2", "-deal3")))

TABLE = Table(
    "alloy",
    "students",
    "Students",
    SETTINGS,
    {pool: tuple(STUDENTS) if pool == "disjoint" else CORE for pool in POOLS if pool != "foreign10"},
    STUDENTS,
    passes=PASSES,
    limited={pool: few() for pool in POOLS if pool != "disjoint"},
    only=dict.fromkeys(varied(SETTINGS), CORE),
    seeds={s.name: range(1) for s in SETTINGS} | {f"{name}/{pool}": range(5) for name, pool in CLOSE},
    precision=PRECISION,
    seed_by_seed=True,
    profile=PROFILE,
)
