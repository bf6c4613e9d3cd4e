"""What students learn from it: the three that matter everywhere, and on unseen texts of three sets every method."""

from benchmarks.alloy.methods import SIZES, STUDENTS, TAUGHT, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | STUDENTS
CHOICE = ("teachers", "muka-soft", "alloy", "oracle")
MORE = (*CHOICE, "vanilla_kd", "supervised")  # of the sets that do not have all
WELL = tuple(s for s in settings() if not s.barely)
WHOLE = ("ag_news", "google_snippets", "thucnews5")
TABLE = Table(
    "alloy",
    "students",
    "Students",
    WELL,
    {pool: tuple(METHODS) if pool == "disjoint" else CHOICE for pool in TAUGHT},
    METHODS,
    only={s.name: MORE for s in WELL if s.name not in WHOLE},
    **SIZES,
)
