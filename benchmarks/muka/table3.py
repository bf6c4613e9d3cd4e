"""Table 3: three, four and five teachers of the ten THUCNews labels."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import BASELINES, MUKA, TEACHERS, Methods
from benchmarks.muka.paper import stated

METHODS: Methods = TEACHERS | BASELINES | MUKA
PAPER = {
    "teacher1": {"three": (29.9, 0.0), "four": (20.0, 0.0), "five": (20.0, 0.0)},
    "teacher2": {"three": (29.8, 0.0), "four": (19.1, 0.0), "five": (19.1, 0.0)},
    "teacher3": {"three": (39.8, 0.0), "four": (19.9, 0.0), "five": (19.9, 0.0)},
    "teacher4": {"four": (39.8, 0.0), "five": (20.0, 0.0)},
    "teacher5": {"five": (20.0, 0.0)},
    "ensemble": {"three": (91.0, 0.0), "four": (74.0, 0.0), "five": (80.6, 0.0)},
    "vanilla_kd": {"three": (92.5, 1.13), "four": (76.5, 0.57), "five": (82.6, 1.64)},
    "dfa": {"three": (91.1, 1.25), "four": (79.6, 1.34), "five": (82.0, 2.04)},
    "cfl": {"three": (93.9, 1.07), "four": (77.4, 1.34), "five": (84.0, 0.24)},
    "uhc": {"three": (84.4, 0.91), "four": (71.6, 2.86), "five": (69.4, 2.73)},
    "muka-hard": {"three": (94.7, 0.20), "four": (93.4, 0.58), "five": (90.5, 0.32)},
    "muka-soft": {"three": (94.7, 0.14), "four": (93.6, 0.30), "five": (90.5, 1.13)},
}
SETTINGS = tuple(
    split("thucnews_titles", n, "chinese", name=name, title=f"{n} teachers {sizes}")
    for n, name, sizes in ((3, "three", "{3,3,4}"), (4, "four", "{2,2,2,4}"), (5, "five", "{2,2,2,2,2}"))
)
TABLE = Table(
    "muka",
    "table3",
    "Table 3: more teachers",
    SETTINGS,
    {"shared": tuple(METHODS)},
    METHODS,
    test=500,
    stated=stated(METHODS),
)
