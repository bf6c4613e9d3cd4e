"""Students of Alloy and of its rivals, of teachers that are cut by topic; alloykit's default learning rate and number of epochs."""

from benchmarks.alloy.methods import CORE, PASSES, STUDENTS
from benchmarks.alloy.profile import PRECISION, PROFILE
from benchmarks.alloy.settings import CLOSE, by_topics, few
from benchmarks.harness.data import NATURAL
from benchmarks.harness.table import Table

POOLS = ("disjoint", NATURAL, "skew5-first")  # others in more_students

TABLE = Table(
    "alloy",
    "students",
    "Students",
    by_topics(),
    {pool: tuple(STUDENTS) if pool == "disjoint" else CORE for pool in POOLS},
    STUDENTS,
    passes=PASSES,
    limited={pool: few() for pool in POOLS if pool != "disjoint"},
    seeds={s.name: range(1) for s in by_topics()} | dict.fromkeys(CLOSE, range(5)),
    precision=PRECISION,
    seed_by_seed=True,
    profile=PROFILE,
)
