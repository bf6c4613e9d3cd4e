"""Targets of two teachers that have many labels in common, in float32: one knows all labels and the other one half of them, or each knows three quarters."""

from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import encoder_of
from benchmarks.alloy.targets_alone import targets_alone
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, grouped

NAMES = ("ag_news", "abstracts5", "banking77", "google_snippets", "stackoverflow20")


def nested(name: str) -> Setting:
    """One teacher of all labels, and one of the first half of them."""
    labels = SETS[name].labels
    about = {"name": f"{name}-nested", "title": f"{SETS[name].title}, all labels and half of them"}
    return grouped(name, (labels, labels[: len(labels) // 2]), encoder_of(name), **about)


def halves(name: str) -> Setting:
    """Each teacher knows three quarters of the labels, so that both know half of them."""
    labels = SETS[name].labels
    cut = round(len(labels) / 4)
    about = {"name": f"{name}-halves", "title": f"{SETS[name].title}, half of the labels in common"}
    return grouped(name, (labels[:-cut], labels[cut:]), encoder_of(name), **about)


TABLE = targets_alone(
    "in_common",
    "Teachers with many labels in common: targets",
    [setting for name in NAMES for setting in (nested(name), halves(name))],
    replace(PROFILE, seeds=(0,)),
    seed_by_seed=True,
)
