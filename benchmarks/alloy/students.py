"""Students of Alloy and of its rivals, with alloykit's default learning rate and number of epochs; in float32, which every CPU is fast in."""

from benchmarks.alloy.methods import CORE, EIGHTH, PASSES, RIVAL_STUDENTS, STUDENTS
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CLOSE, few, settings, varied
from benchmarks.harness.data import NATURAL
from benchmarks.harness.table import Table

SETTINGS = tuple(s for s in settings() if not s.name.endswith(("-deal2", "-deal3")))
OTHER_POOLS = (NATURAL, "skew5-first", "foreign50", "shared")
MORE_RIVALS = tuple(name for name in RIVAL_STUDENTS if name not in CORE)  # of teachers cut by topic

TABLE = Table(
    "alloy",
    "students",
    "Students",
    SETTINGS,
    {"disjoint": (*CORE, *MORE_RIVALS, EIGHTH)} | dict.fromkeys(OTHER_POOLS, (*CORE, EIGHTH)),
    STUDENTS,
    passes=PASSES,
    only=dict.fromkeys(varied(SETTINGS), (*CORE, EIGHTH)),
    limited=dict.fromkeys(OTHER_POOLS, few()),
    seed_by_seed=True,
    seeds={"google_snippets/foreign50": range(3)}
    | {s.name: range(1) for s in SETTINGS}
    | dict.fromkeys(CLOSE, range(5)),
    profile=PROFILE,
)
