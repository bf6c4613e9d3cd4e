"""Settings: teachers over groups of labels of one or several data sets, and their encoders."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from alloykit.labels import LabelSpace
from benchmarks.harness.profiles import Profile
from benchmarks.harness.sets import SETS

MAX_ATTEMPTS = 1000  # to find a new deal
# "barely": trained for a third of the epochs at half the rate; "few", "noisy": benchmarks/harness/learned_texts.py
Flaw = Literal["", "barely", "few", "noisy"]
OTHER = "other"  # a teacher's label for all texts whose label it does not know


@dataclass(frozen=True)
class TeacherPlan:
    """`encoder`: a role, for which the profile names a model. `other`: the teacher also learned the set's other texts, all with the label OTHER.
    `flaw`: what is wrong with the teacher, if anything."""

    dataset: str
    labels: tuple[str, ...]
    encoder: str = "english"
    other: bool = False
    flaw: Flaw = ""

    @property
    def learned(self) -> tuple[str, ...]:
        """All labels that the teacher gives."""
        return (*self.labels, OTHER) if self.other else self.labels


@dataclass(frozen=True)
class Setting:
    """`keep_apart`: equal names of different teachers are different labels. `catch_all`: the recipe says what OTHER means. `teachers_of`: another setting, whose teachers and stored
    outputs it uses. `together`: the teachers were co-finetuned under one head. `generation`: options for writing its texts, which replace the table's."""

    name: str
    title: str
    teachers: tuple[TeacherPlan, ...]
    student: str = "english"
    keep_apart: bool = False
    catch_all: bool = False
    teachers_of: str | None = None
    together: bool = False
    generation: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def pairs(self) -> bool:
        return any(SETS[name].pairs for name in self.datasets)

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t.dataset for t in self.teachers))

    @property
    def roles(self) -> set[str]:
        return {self.student, *(t.encoder for t in self.teachers)}

    @cached_property
    def space(self) -> LabelSpace:
        names = [f"teacher{i + 1}" for i in range(len(self.teachers))]
        return LabelSpace.union([t.learned for t in self.teachers], teacher_names=names, **self.joined)

    @property
    def joined(self) -> dict[str, Any]:
        """How labels are joined: a recipe's `labels:`."""
        return {"keep_apart": self.keep_apart, "catch_all": [OTHER] if self.catch_all else []}

    def union_name(self, dataset: str, label: str) -> str:
        """What the union calls a data set's label. KeyError if no teacher knows it."""
        for plan, names in zip(self.teachers, self.space.teachers, strict=True):
            if plan.dataset == dataset and label in plan.labels:
                return names[plan.labels.index(label)]
        raise KeyError(f"{dataset}: {label}")

    def has_label(self, dataset: str, label: str) -> bool:
        """Whether a teacher knows this label of a data set."""
        return any(plan.dataset == dataset and label in plan.labels for plan in self.teachers)

    def described(self, profile: Profile) -> dict[str, Any]:
        teachers = [[t.dataset, list(t.learned), t.encoder] for t in self.teachers]
        about = {"teachers": teachers, "student": self.student, "keep_apart": self.keep_apart}
        about |= {key: True for key in ("catch_all", "together") if getattr(self, key)}
        flaws = [t.flaw for t in self.teachers]
        if set(flaws) == {"barely"}:
            about["barely"] = True
        elif any(flaws):
            about["flaws"] = flaws
        trained = {name: [profile.of_sets([name], what) for what in ("teacher", "student")] for name in self.datasets}
        if any(map(any, trained.values())):
            about["training"] = trained
        if sizes := profile.of_sets(self.datasets, "sizes"):
            about["sizes"] = sizes
        if sources := {name: dict(SETS[name].sources) for name in self.datasets if SETS[name].sources}:
            about["sources"] = sources
        generation = profile.of_sets(self.datasets, "generation") | dict(self.generation)
        return about | ({"generation": generation} if generation else {})


def one_task(dataset: str, encoders: tuple[str, ...], **more: Any) -> Setting:
    """Teachers with these encoders, each of which learns all labels of a data set."""
    plans = tuple(TeacherPlan(dataset, SETS[dataset].labels, encoder) for encoder in encoders)
    return Setting(**{"name": dataset, "title": SETS[dataset].title, "teachers": plans} | more)


def split(dataset: str, teachers: int, encoders: tuple[str, ...] | str = "english", **more: Any) -> Setting:
    """One data set whose labels are cut among teachers as MUKA's Appendix A says; `encoders`: one for all teachers, or one for each."""
    return grouped(dataset, SETS[dataset].split(teachers), encoders, **more)


def dealt(dataset: str, teachers: int, deal: int, encoders: tuple[str, ...] | str = "english", **more: Any) -> Setting:
    """One data set whose labels are dealt to the teachers at random, as evenly as possible. `deal`: the number of the deal, from 1. All deals give other
    groups of labels than each other and than `split`. ValueError if there are fewer deals."""
    labels = SETS[dataset].labels
    seen = {_partition(SETS[dataset].split(teachers))}
    for attempt in range(MAX_ATTEMPTS):
        order = random.Random(f"deal {dataset} {teachers} {attempt}").sample(labels, len(labels))
        groups = [sorted(order[i::teachers], key=labels.index) for i in range(teachers)]
        if (partition := _partition(groups)) not in seen:
            seen.add(partition)
            if len(seen) == deal + 1:
                about = {"name": f"{dataset}-deal{deal}", "title": f"{SETS[dataset].title}, deal {deal}"}
                return grouped(dataset, groups, encoders, **about | more)
    raise ValueError(
        f"expected at least {deal} deals of the labels of {dataset} to {teachers} teachers; got {len(seen) - 1}"
    )


def overlapping(dataset: str, teachers: int, encoders: tuple[str, ...] | str = "english", **more: Any) -> Setting:
    """As `split`, but every teacher also knows the first quarter of the next teacher's labels (at least one label). The next of the last is the first."""
    groups = SETS[dataset].split(teachers)
    following = [*groups[1:], groups[0]]
    both = [own + other[: max(1, round(len(other) / 4))] for own, other in zip(groups, following, strict=True)]
    about = {"name": f"{dataset}-overlap", "title": f"{SETS[dataset].title}, overlapping label sets"}
    return grouped(dataset, both, encoders, **about | more)


def uneven(dataset: str, encoders: tuple[str, ...] | str = "english", **more: Any) -> Setting:
    """Two teachers: the first one knows the first fifth of a data set's labels (at least two), and the second one all others."""
    labels = SETS[dataset].labels
    cut = max(2, round(len(labels) / 5))
    about = {"name": f"{dataset}-uneven", "title": f"{SETS[dataset].title}, {cut} and {len(labels) - cut} labels"}
    return grouped(dataset, (labels[:cut], labels[cut:]), encoders, **about | more)


def grouped(
    dataset: str, groups: Sequence[Sequence[str]], encoders: tuple[str, ...] | str = "english", **more: Any
) -> Setting:
    """One data set, and a teacher for each group of its labels; `encoders`: one for all teachers, or one for each."""
    each = (encoders,) * len(groups) if isinstance(encoders, str) else encoders
    plans = tuple(TeacherPlan(dataset, tuple(g), e) for g, e in zip(groups, each, strict=True))
    about = {"name": dataset, "title": SETS[dataset].title, "student": each[0]} | more
    return Setting(teachers=plans, **about)


def flawed(setting: Setting, flaw: Flaw, teachers: Collection[int], **more: Any) -> Setting:
    """The same setting with a flaw of some teachers, given by their places."""
    plans = tuple(replace(t, flaw=flaw) if i in teachers else t for i, t in enumerate(setting.teachers))
    return replace(setting, teachers=plans, **more)


def _partition(groups: Sequence[Sequence[str]]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(group) for group in groups)
