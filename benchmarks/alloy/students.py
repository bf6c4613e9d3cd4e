"""Students of Alloy and of its rivals, with alloykit's default learning rate and number of epochs; in float32, which every CPU is fast in."""

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.gate_student import gate_student
from benchmarks.alloy.methods import CORE, EIGHTH, PASSES, RIVAL_STUDENTS, STUDENTS
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CLOSE, by_topics, few, settings, varied
from benchmarks.harness.data import NATURAL
from benchmarks.harness.table import Table

SETTINGS = settings()
# In pool disjoint: of teachers cut by topic, and of the settings of StackOverflow in which Alloy's lead over the two others is smallest
MORE_RIVALS = tuple(name for name in RIVAL_STUDENTS if name not in CORE)
ALL_RIVALS = (*(f"stackoverflow20-deal{deal}" for deal in (1, 2, 3)), "stackoverflow20-4-overlap")
GRID = {
    "disjoint": (*CORE, *MORE_RIVALS, "gate", EIGHTH),
    NATURAL: CORE,
    "skew5-first": (*CORE, EIGHTH),
    "foreign50": (*CORE, EIGHTH),
    "shared": (*CORE, EIGHTH),
}
MORE_CLOSE = (  # seed 0 differs by less than 3 points
    "stackoverflow20-deal1/disjoint",
    "stackoverflow20-4-deal1/disjoint",
    "stackoverflow20-4-overlap/disjoint",
    "ohsumed-4-deal1/disjoint",
    "thucnews_titles-deal1/disjoint",
    "thucnews_titles/foreign50",
    "stackoverflow20/foreign50",
    "stackoverflow20/shared",
    "stackoverflow20-deal2/disjoint",
    "stackoverflow20-deal3/disjoint",
    "stackoverflow20-4-deal3/disjoint",
)
CHOSEN_SHARED = ("ag_news/shared", "abstracts5/shared", "banking77-3/shared")  # what Eq. 23 does in this pool
# With five seeds more than 0.5 points below the best rival: five more
BELOW = ("stackoverflow20/shared", "stackoverflow20-deal2/disjoint")
SEEDS = {  # of settings, or of one pool of them; later lines replace earlier ones
    **{s.name: range(1) for s in SETTINGS},
    **{f"{s.name}/disjoint": range(3) for s in by_topics()},
    "google_snippets/foreign50": range(3),
    "ohsumed-4/disjoint": range(5),
    **dict.fromkeys(CHOSEN_SHARED, range(3)),
    **dict.fromkeys((*CLOSE, *MORE_CLOSE), range(5)),
    **dict.fromkeys(BELOW, range(10)),
}

TABLE = Table(
    "alloy",
    "students",
    "Students",
    SETTINGS,
    GRID,
    STUDENTS,
    passes=PASSES,
    reads=(EARLY,),
    analyses={"student of the gate": gate_student},
    only=dict.fromkeys(varied(SETTINGS), (*CORE, EIGHTH)) | dict.fromkeys(ALL_RIVALS, (*CORE, *MORE_RIVALS, EIGHTH)),
    limited=dict.fromkeys(tuple(GRID)[1:], few()),
    seed_by_seed=True,
    seeds=SEEDS,
    profile=PROFILE,
)
