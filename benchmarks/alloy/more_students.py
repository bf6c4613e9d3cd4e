"""Students in float32, which every CPU is fast in: in pools with foreign texts, from the teachers' own texts, of teachers that are not cut by topic, and
five seeds where Alloy and the best rival differ little."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CLOSE_IN_FLOAT32, few, settings, varied
from benchmarks.harness.table import Table

CLOSE_POOLS = {pool: [name] for name, pool in (close.split("/") for close in CLOSE_IN_FLOAT32)}
SETTINGS = tuple(s for s in settings() if not s.name.endswith(("-deal2", "-deal3")))

TABLE = Table(
    "alloy",
    "more_students",
    "Students in float32",
    SETTINGS,
    dict.fromkeys(("foreign50", "disjoint", *CLOSE_POOLS, "shared"), CORE),
    {name: STUDENTS[name] for name in CORE},
    passes=PASSES,
    limited={"foreign50": few(), "disjoint": varied(SETTINGS), "shared": few()} | CLOSE_POOLS,
    seeds={"google_snippets/foreign50": range(3)}
    | {s.name: range(1) for s in SETTINGS}
    | dict.fromkeys(CLOSE_IN_FLOAT32, range(5)),
    profile=PROFILE,
)
