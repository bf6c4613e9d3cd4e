"""Students of teachers that were trained on different data sets, in float32."""

from benchmarks.alloy.across import POOL, SETTINGS, SIZED
from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
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
