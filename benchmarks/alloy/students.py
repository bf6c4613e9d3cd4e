"""Students of Alloy and of its rivals, with alloykit's default learning rate and number of epochs; in float32, which every CPU is fast in."""

from benchmarks.alloy.methods import CORE, EIGHTH, PASSES, STUDENTS
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CLOSE, few, settings
from benchmarks.harness.data import NATURAL
from benchmarks.harness.table import Table

SETTINGS = tuple(s for s in settings() if not s.name.endswith(("-deal2", "-deal3")))
OTHER_POOLS = (NATURAL, "skew5-first", "foreign50", "shared")

TABLE = Table(
    "alloy",
    "students",
    "Students",
    SETTINGS,
    dict.fromkeys(("disjoint", *OTHER_POOLS), (*CORE, EIGHTH)),
    {name: STUDENTS[name] for name in (*CORE, EIGHTH)},
    passes=PASSES,
    limited=dict.fromkeys(OTHER_POOLS, few()),
    seed_by_seed=True,
    seeds={"google_snippets/foreign50": range(3)}
    | {s.name: range(1) for s in SETTINGS}
    | dict.fromkeys(CLOSE, range(5)),
    profile=PROFILE,
)
