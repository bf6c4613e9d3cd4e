"""Students of Alloy's eighth version, which learn from its target alone, in bfloat16; of teachers that are cut by topic. No further cell will be run."""

from benchmarks.alloy.methods import EIGHTH, EIGHTH_VERSION, PASSES, RIVAL_STUDENTS, STUDENTS
from benchmarks.alloy.profile import PRECISION, PROFILE
from benchmarks.alloy.settings import by_topics, few
from benchmarks.harness.data import NATURAL
from benchmarks.harness.table import Table

POOLS = ("disjoint", NATURAL, "skew5-first")
METHODS = {"teachers": STUDENTS["teachers"], EIGHTH: EIGHTH_VERSION, **RIVAL_STUDENTS, "oracle": STUDENTS["oracle"]}
CORE = ("teachers", EIGHTH, "vanilla_kd", "energy", "oracle")

TABLE = Table(
    "alloy",
    "earlier_students",
    "Students of the eighth version",
    by_topics(),
    {pool: tuple(METHODS) if pool == "disjoint" else CORE for pool in POOLS},
    METHODS,
    passes=PASSES,
    limited={pool: few() for pool in POOLS if pool != "disjoint"},
    seeds={s.name: range(1) for s in by_topics()}
    | dict.fromkeys(("stackoverflow20/disjoint", "stackoverflow20-4/disjoint"), range(5)),
    precision=PRECISION,
    seed_by_seed=True,
    profile=PROFILE,
)
