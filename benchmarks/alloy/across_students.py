"""Students of teachers that were trained on different data sets, in float32."""

from benchmarks.alloy.across import POOL, SETTINGS, SIZED
from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.harness.table import Table

METHODS = (*CORE, "uhc", "muka-soft")

TABLE = Table(
    "alloy",
    "across_students",
    "Teachers of different data sets: students",
    SETTINGS,
    {POOL: METHODS},
    {name: STUDENTS[name] for name in METHODS},
    passes=PASSES,
    profile=SIZED,
)
