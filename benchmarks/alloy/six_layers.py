"""Targets of teachers that keep all six layers of MiniLM. Do the results of three layers also hold for them?"""

from dataclasses import replace
from functools import partial

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ALLOY, PASSES, Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import by_topic
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.profiles import TRIMMED
from benchmarks.harness.table import Table

POOL = "disjoint"
ROLE = "english-six"
TEACHERS = {"google_snippets": 2, "stackoverflow20": 4, "ohsumed": 4, "ag_news": 2, "abstracts5": 2, "banking77": 3}
METHODS: Methods = {"rivals": {"name": "rivals"}, "alloy": {"name": "target of alloy", "of": ALLOY}}

TABLE = Table(
    "alloy",
    "six_layers",
    "Teachers of six layers",
    tuple(replace(by_topic(name, n, ROLE), name=f"{name}-six") for name, n in TEACHERS.items()),
    {POOL: tuple(METHODS)},
    METHODS,
    passes=PASSES,
    reads=(EARLY, {"name": "routing", "of": ALLOY}),
    analyses={"rivals": rivals, "target of alloy": partial(target, spec=ALLOY)},
    profile=replace(PROFILE, encoders={ROLE: {"model": TRIMMED}}, seeds=(0,)),
)
