"""Students in float32, which every CPU is fast in: in pools with foreign texts, from the teachers' own texts, and of teachers that are not cut by topic."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import few, settings, varied
from benchmarks.harness.table import Table

SETTINGS = tuple(s for s in settings() if not s.name.endswith(("-deal2", "-deal3")))

TABLE = Table(
    "alloy",
    "more_students",
    "Students in float32",
    SETTINGS,
    dict.fromkeys(("foreign50", "disjoint", "shared"), CORE),
    {name: STUDENTS[name] for name in CORE},
    passes=PASSES,
    limited={"foreign50": few(), "disjoint": varied(SETTINGS), "shared": few()},
    seeds={"google_snippets/foreign50": range(3)} | {s.name: range(1) for s in SETTINGS},
    profile=PROFILE,
)
