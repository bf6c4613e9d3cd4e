"""Settings: teachers over groups of labels of one or several data sets, and their encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from alloykit.labels import LabelSpace
from benchmarks.harness.data import SETS
from benchmarks.harness.profiles import Profile


@dataclass(frozen=True)
class TeacherPlan:
    """`encoder`: a role, for which the profile names a model."""

    dataset: str
    labels: tuple[str, ...]
    encoder: str = "english"


@dataclass(frozen=True)
class Setting:
    """`keep_apart`: equal names of different teachers are different labels. `teachers_of`: the setting, if not this one, whose
    teachers and stored outputs it uses. `together`: the teachers were co-finetuned under one head. `barely`: they were trained for a third of the
    epochs at half the learning rate. `generation`: with what its texts are written in place of the table's options."""

    name: str
    title: str
    teachers: tuple[TeacherPlan, ...]
    student: str = "english"
    keep_apart: bool = False
    teachers_of: str | None = None
    together: bool = False
    barely: bool = False
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
        return LabelSpace.union([t.labels for t in self.teachers], teacher_names=names, keep_apart=self.keep_apart)

    def union_name(self, dataset: str, label: str) -> str:
        """What the union calls a data set's label. KeyError if no teacher knows it."""
        for plan, names in zip(self.teachers, self.space.teachers, strict=True):
            if plan.dataset == dataset and label in plan.labels:
                return names[plan.labels.index(label)]
        raise KeyError(f"{dataset}: {label}")

    def described(self, profile: Profile) -> dict[str, Any]:
        teachers = [[t.dataset, list(t.labels), t.encoder] for t in self.teachers]
        about = {"teachers": teachers, "student": self.student, "keep_apart": self.keep_apart}
        about |= {key: True for key in ("together", "barely") if getattr(self, key)}
        trained = {name: [profile.of_sets([name], what) for what in ("teacher", "student")] for name in self.datasets}
        if any(map(any, trained.values())):
            about["training"] = trained
        generation = profile.of_sets(self.datasets, "generation") | dict(self.generation)
        return about | ({"generation": generation} if generation else {})


def one_task(dataset: str, encoders: tuple[str, ...], **more: Any) -> Setting:
    """Teachers with these encoders, each of which learns all labels of a data set."""
    plans = tuple(TeacherPlan(dataset, SETS[dataset].labels, encoder) for encoder in encoders)
    return Setting(**{"name": dataset, "title": SETS[dataset].title, "teachers": plans} | more)


def split(dataset: str, teachers: int, encoders: tuple[str, ...] | str = "english", **more: Any) -> Setting:
    """One data set whose labels are cut among teachers as MUKA's Appendix A says; `encoders`: everyone's, or one for each."""
    each = (encoders,) * teachers if isinstance(encoders, str) else encoders
    groups = SETS[dataset].split(teachers)
    plans = tuple(TeacherPlan(dataset, tuple(g), e) for g, e in zip(groups, each, strict=True))
    about = {"name": dataset, "title": SETS[dataset].title, "student": each[0]} | more
    return Setting(teachers=plans, **about)
