"""Settings in which no teacher knows some labels of the set: their texts are neither in the pool nor among the test texts."""

from __future__ import annotations

from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, grouped, split

SHARE = 0.1  # of a set's labels, at least one


def held_out(dataset: str, teachers: int, encoder: str) -> Setting:
    """As `split`, without the last labels. A teacher that is left with one label also gets the last label of the teacher before it."""
    plan = split(dataset, teachers, encoder)
    labels = [label for teacher in plan.teachers for label in teacher.labels]
    gone = set(unknown(labels))
    groups = [[label for label in teacher.labels if label not in gone] for teacher in plan.teachers]
    groups = [group if len(group) > 1 else groups[i - 1][-1:] + group for i, group in enumerate(groups)]
    title = f"{SETS[dataset].title} without {_named(unknown(labels))}"
    return grouped(dataset, groups, encoder, name=f"{dataset}-{teachers}-held-out", title=title)


def unknown(labels: list[str]) -> list[str]:
    """The labels that no teacher knows, of all labels in the order in which they are cut among the teachers."""
    return labels[-max(1, round(SHARE * len(labels))) :]


def _named(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{len(labels)} labels"
