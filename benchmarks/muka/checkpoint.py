"""Accuracy when the checkpoint is chosen without labels (alloykit) and by labelled validation accuracy (the paper)."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import BASELINES, MUKA, RULES, TEACHERS, Methods
from benchmarks.muka.paper import stated

CHOSEN = {"vanilla_kd": BASELINES["vanilla_kd"], "muka-soft": MUKA["muka-soft"]}
METHODS: Methods = TEACHERS | {
    f"{name}-{rule}": spec | {"training": {"select": rule}} for name, spec in CHOSEN.items() for rule in RULES
}
SETTINGS = (split("ag_news", 2),)
TABLE = Table(
    "muka",
    "checkpoint",
    "Choice of the checkpoint",
    SETTINGS,
    {"shared": tuple(METHODS)},
    METHODS,
    texts=1000,
    test=500,
    stated=stated(METHODS),
)
