"""Students: MUKA-Soft, Alloy and perfect routing on all pools, and every method on unseen texts of three sets.

Also barely trained teachers of four sets, on unseen texts.
"""

from benchmarks.alloy.methods import SIZES, STUDENTS, TAUGHT, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | STUDENTS
CHOICE = ("teachers", "muka-soft", "alloy", "oracle")
MORE = (*CHOICE, "vanilla_kd", "supervised")  # of the sets that do not have all
WELL = tuple(s for s in settings() if not s.barely)
BARELY = tuple(s for s in settings() if s.barely)
WHOLE = ("ag_news", "google_snippets", "thucnews5")
TABLE = Table(
    "alloy",
    "students",
    "Students",
    (*WELL, *BARELY),
    {pool: tuple(METHODS) if pool == "disjoint" else CHOICE for pool in TAUGHT},
    METHODS,
    only={s.name: CHOICE if s.barely else MORE for s in (*WELL, *BARELY) if s.name not in WHOLE},
    limited={pool: [s.name for s in WELL] for pool in TAUGHT if pool != "disjoint"},
    **SIZES,
)
