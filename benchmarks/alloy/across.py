"""Targets of teachers that were trained on different data sets, in float32. Nothing of Alloy was changed for what comes of them."""

from dataclasses import replace
from functools import partial

from benchmarks.alloy.gate import EARLY
from benchmarks.alloy.methods import ALLOY, BY_ENERGY, PASSES, Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, TeacherPlan
from benchmarks.harness.table import Table

POOL = "disjoint"
ENCODER = "english-trimmed"
SETTINGS_OF = {  # name: title, and for each data set the number of teachers that its labels are cut among
    "banking_stackoverflow": ("Banking77 + StackOverflow", {"banking77": 1, "stackoverflow20": 1}),
    "news_snippets": ("AG News + Google Snippets, two names in common", {"ag_news": 1, "google_snippets": 1}),
    "four_sets": (
        "AG News + 5Abstracts + StackOverflow + OhSumed",
        {"ag_news": 1, "abstracts5": 1, "stackoverflow20": 1, "ohsumed": 1},
    ),
    "two_sets_cut": ("AG News and StackOverflow, two teachers each", {"ag_news": 2, "stackoverflow20": 2}),
}
METHODS: Methods = {
    "rivals": {"name": "rivals"},
    "alloy": {"name": "target of alloy", "of": ALLOY},
    "by_energy": {"name": "target by energy", "of": BY_ENERGY},
}


def _setting(name: str) -> Setting:
    title, teachers = SETTINGS_OF[name]
    plans = [TeacherPlan(s, tuple(group), ENCODER) for s, n in teachers.items() for group in SETS[s].split(n)]
    return Setting(name, title, tuple(plans), student=ENCODER)


SETTINGS = tuple(map(_setting, SETTINGS_OF))
# Texts of each data set. Banking77 has no more than the others, so that no teacher has more texts in the pool.
SIZED = replace(PROFILE, texts=1000, test=400, sets={name: {"teacher": {"epochs": epochs}} for name, epochs in (("banking77", 10), ("ohsumed", 12))}, seeds=(0,))  # fmt: skip

TABLE = Table(
    "alloy",
    "across",
    "Teachers of different data sets: targets",
    SETTINGS,
    {POOL: tuple(METHODS)},
    METHODS,
    passes=PASSES,
    reads=(EARLY, {"name": "routing", "of": ALLOY}),
    analyses={
        "rivals": rivals,
        "target of alloy": partial(target, spec=ALLOY),
        "target by energy": partial(target, spec=BY_ENERGY),
    },
    profile=SIZED,
)
