"""Targets of teachers that have a label for all texts whose label they do not know, in float32: `labels: {catch_all: []}` of a recipe, `[other]`, and `keep_apart`."""

from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import TEACHERS, by_topic
from benchmarks.alloy.targets_alone import targets_alone
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import OTHER, Setting

NAMES = ("ag_news", "abstracts5", "banking77", "google_snippets", "stackoverflow20")
SINGLE = ("ag_news", "abstracts5")  # also with a teacher for each label
CATCH_ALL = "catch_all"
EVERY, ONE = f"all have `{OTHER}`", f"one has `{OTHER}`"


def variants(name: str) -> list[Setting]:
    """Teachers of labels cut by topic. All have such a label, or only the first one has it."""
    plain = by_topic(name, TEACHERS[name][0])
    _, *rest = plain.teachers
    every = tuple(replace(plan, other=True) for plan in plain.teachers)
    all_have = replace(plain, name=f"{name}-other", title=f"{plain.title}, {EVERY}", teachers=every)
    one_has = replace(plain, name=f"{name}-one-other", title=f"{plain.title}, {ONE}", teachers=(every[0], *rest))
    return [
        all_have,
        _with(all_have, "apart", "keep_apart"),
        _with(all_have, CATCH_ALL, CATCH_ALL),
        one_has,
        _with(one_has, CATCH_ALL, CATCH_ALL),
    ]


def single(name: str) -> list[Setting]:
    """A teacher for each label, which knows only this label and OTHER."""
    plain = by_topic(name, TEACHERS[name][0])
    each = tuple(replace(plain.teachers[0], labels=(label,), other=True) for label in SETS[name].labels)
    setting = replace(plain, name=f"{name}-single", title=f"{plain.title}, a teacher for each label", teachers=each)
    return [setting, _with(setting, CATCH_ALL, CATCH_ALL)]


def _with(setting: Setting, ending: str, option: str) -> Setting:
    """The same teachers, and this option of `labels:`."""
    about = {"name": f"{setting.name}-{ending}", "title": f"{setting.title}, `{option}`"}
    return replace(setting, **about, teachers_of=setting.name, **{option: True})


TABLE = targets_alone(
    "catch_all",
    "Teachers with a label for all other texts: targets",
    [setting for name in NAMES for setting in variants(name)]
    + [setting for name in SINGLE for setting in single(name)],
    replace(PROFILE, seeds=(0,)),
    seed_by_seed=True,
)
