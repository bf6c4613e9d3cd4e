"""What students learn from it: all methods on unseen texts, the three that matter on skewed and contaminated pools."""

from benchmarks.alloy.methods import STUDENTS, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | STUDENTS
CHOICE = ("teachers", "muka-soft", "alloy", "oracle")
GRID = {"disjoint": tuple(METHODS), "skew5-first": CHOICE, "skew5-last": CHOICE, "foreign50": CHOICE}
WELL = tuple(s for s in settings() if not s.barely)
TABLE = Table("alloy", "students", "Students", WELL, GRID, METHODS)
