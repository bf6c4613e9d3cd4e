"""Targets of teachers that have a label for all texts whose label they do not know, in float32: `labels: {catch_all: []}` of a recipe, `[other]`, and `keep_apart`."""

from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import TEACHERS, by_topic
from benchmarks.alloy.targets_alone import targets_alone
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import OTHER, Setting

NAMES = ("ag_news", "abstracts5", "banking77", "google_snippets", "stackoverflow20")
SINGLE = ("ag_news", "abstracts5")  # also with a teacher for each label
EVERY, ONE = f"all have `{OTHER}`", f"one has `{OTHER}`"


def variants(name: str) -> list[Setting]:
    """Teachers of labels cut by topic. All have such a label, or only the first one has it."""
    plain = by_topic(name, TEACHERS[name][0])
    first, *rest = plain.teachers
    every = tuple(replace(plan, other=True) for plan in plain.teachers)
    one = (replace(first, other=True), *rest)
    joined, single = f"{name}-other", f"{name}-one-other"
    return [
        replace(plain, name=joined, title=f"{plain.title}, {EVERY}", teachers=every),
        replace(
            plain,
            name=f"{joined}-apart",
            title=f"{plain.title}, {EVERY}, `keep_apart`",
            teachers=every,
            keep_apart=True,
            teachers_of=joined,
        ),
        replace(
            plain,
            name=f"{joined}-catch_all",
            title=f"{plain.title}, {EVERY}, `catch_all`",
            teachers=every,
            catch_all=True,
            teachers_of=joined,
        ),
        replace(plain, name=single, title=f"{plain.title}, {ONE}", teachers=one),
        replace(
            plain,
            name=f"{single}-catch_all",
            title=f"{plain.title}, {ONE}, `catch_all`",
            teachers=one,
            catch_all=True,
            teachers_of=single,
        ),
    ]


def single(name: str) -> list[Setting]:
    """A teacher for each label, which knows only this label and OTHER."""
    plain = by_topic(name, TEACHERS[name][0])
    first = plain.teachers[0]
    each = tuple(replace(first, labels=(label,), other=True) for label in SETS[name].labels)
    joined, title = f"{name}-single", f"{plain.title}, a teacher for each label"
    return [
        replace(plain, name=joined, title=title, teachers=each),
        replace(
            plain,
            name=f"{joined}-catch_all",
            title=f"{title}, `catch_all`",
            teachers=each,
            catch_all=True,
            teachers_of=joined,
        ),
    ]


TABLE = targets_alone(
    "catch_all",
    "Teachers with a label for all other texts: targets",
    [setting for name in NAMES for setting in variants(name)]
    + [setting for name in SINGLE for setting in single(name)],
    replace(PROFILE, seeds=(0,)),
    seed_by_seed=True,
)
