"""Targets of teachers that were trained on different data sets, in float32."""

from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.targets_alone import targets_alone
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, TeacherPlan

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


def _setting(name: str) -> Setting:
    title, teachers = SETTINGS_OF[name]
    plans = [TeacherPlan(s, tuple(group), ENCODER) for s, n in teachers.items() for group in SETS[s].split(n)]
    return Setting(name, title, tuple(plans), student=ENCODER)


SETTINGS = tuple(map(_setting, SETTINGS_OF))
# Texts of each data set. Banking77 has no more than the others, so that no teacher has more texts in the pool.
SIZED = replace(
    PROFILE,
    texts=1000,
    test=400,
    sets={"banking77": {"teacher": {"epochs": 10}}, "ohsumed": {"teacher": {"epochs": 12}}},
    seeds=(0,),
)

TABLE = targets_alone("across", "Teachers of different data sets: targets", SETTINGS, SIZED)
