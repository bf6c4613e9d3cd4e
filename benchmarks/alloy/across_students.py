"""Students of teachers that were trained on different data sets, in float32."""

from benchmarks.alloy.across import SETTINGS, SIZED
from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.targets_alone import POOL
from benchmarks.harness.table import Table

TABLE = Table(
    "alloy",
    "across_students",
    "Teachers of different data sets: students",
    SETTINGS,
    {POOL: CORE},
    {name: STUDENTS[name] for name in CORE},
    passes=PASSES,
    profile=SIZED,
)
