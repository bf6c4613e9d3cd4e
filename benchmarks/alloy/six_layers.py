"""Targets of teachers that keep all six layers of MiniLM: whether what three layers show holds for deeper teachers."""

from dataclasses import replace
from functools import partial

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ALLOY, PASSES, Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.profiles import TRIMMED
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, split
from benchmarks.harness.table import Table

POOL = "disjoint"
ROLE = "english-six"
TEACHERS = {"google_snippets": 2, "stackoverflow20": 4, "ohsumed": 4, "ag_news": 2, "abstracts5": 2, "banking77": 3}
METHODS: Methods = {"rivals": {"name": "rivals"}, "alloy": {"name": "target of alloy", "of": ALLOY}}


def _six(name: str, n: int) -> Setting:
    title = f"{SETS[name].title}, {n} teachers" if n > 2 else SETS[name].title
    return split(name, n, ROLE, name=f"{name}-six", title=title, student=ROLE)


TABLE = Table(
    "alloy",
    "six_layers",
    "Teachers of six layers",
    tuple(_six(name, n) for name, n in TEACHERS.items()),
    {POOL: tuple(METHODS)},
    METHODS,
    passes=PASSES,
    reads=(EARLY, {"name": "routing", "of": ALLOY}),
    analyses={"rivals": rivals, "target of alloy": partial(target, spec=ALLOY)},
    profile=replace(PROFILE, encoders={ROLE: {"model": TRIMMED}}, seeds=(0,)),
)
