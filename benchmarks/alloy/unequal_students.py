"""Students of teachers of which the first one is worse than the others, in float32: on the set on which rivals' targets are as good as Alloy's."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.students import MORE_RIVALS
from benchmarks.alloy.targets_alone import POOL
from benchmarks.alloy.unequal import TABLE as TARGETS
from benchmarks.harness.table import Table

METHODS = (*CORE, *MORE_RIVALS)
TABLE = Table(
    "alloy",
    "unequal_students",
    "Teachers of unequal quality: students",
    tuple(setting for setting in TARGETS.settings if setting.datasets == ("stackoverflow20",)),
    {POOL: METHODS},
    {name: STUDENTS[name] for name in METHODS},
    passes=PASSES,
    seed_by_seed=True,
    profile=TARGETS.profile,
)
