"""The union of the teachers' labels, joined by name, and the maps between each teacher and the union.

Notation: N teachers; teacher i has C_i labels; the union has C labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.names import clean_names, quoted, refuse_repeats, refuse_single, shown, unknown_name

GIVEN = 0.5  # the smallest probability of a label that is given to a text, where labels do not exclude each other


@dataclass(frozen=True)
class LabelSpace:
    """The union of N label sets. Build it with `LabelSpace.union`.

    names: the C labels of the union. `union` lists them teacher by teacher, in order of first appearance.
    teachers: for each teacher its label names in its own logit order, after renaming and aliases.
    catch_all: the labels that mean "none of the teacher's other labels" (knowledge/abstention.py), in the order of `names`.

    AlloyError if `names` are not the labels of `teachers`, each once.
    """

    names: tuple[str, ...]
    teachers: tuple[tuple[str, ...], ...]
    catch_all: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names) or set(self.names) != set(chain(*self.teachers)):
            raise AlloyError(
                expected="each label of the teachers exactly once in `names`",
                got=f"names {quoted(self.names)} for {self.teachers}",
                hint="Use LabelSpace.union(...).",
            )

    def __getstate__(self) -> dict[str, Any]:
        # Without the cached tensors: a tensor on a GPU cannot be sent to a worker process.
        return {"names": self.names, "teachers": self.teachers, "catch_all": self.catch_all}

    @classmethod
    def union(
        cls,
        teachers: Sequence[Sequence[str]],
        *,
        aliases: Mapping[str, str] | None = None,
        teacher_names: Sequence[str] | None = None,
        keep_apart: bool | Collection[str] = False,
        catch_all: Collection[str] = (),
    ) -> LabelSpace:
        """Join the teachers' labels by name.

        aliases: label -> the name to use instead, applied once, before joining.
        teacher_names: one name per teacher; used in messages, and as the prefix of `keep_apart`.
        keep_apart: True, or the names (after aliases) of shared labels that are *not* one class. Each becomes
            ``<teacher name>/<label>`` for every teacher that has it; labels of one teacher stay as they are.
        catch_all: the names (after aliases) of labels that mean "none of the teacher's other labels". `keep_apart: True` leaves them joined.

        Raises AlloyError for no teachers; a teacher with fewer than two labels, or with no label outside of `catch_all`; labels of one teacher that
        are or become equal; empty names; unknown, empty or chained aliases; names in `keep_apart` or `catch_all` that do not exist, or are in
        both; another number of `teacher_names` than of teachers; and, with `keep_apart`, teachers without different names, or a label that equals a
        new one.
        """
        if not teachers:
            raise AlloyError(expected="at least one teacher", got="none")
        refuse_single(teacher_names, "teacher_names")
        if teacher_names is not None and len(teacher_names) != len(teachers):
            raise AlloyError(
                expected=f"one name for each of {len(teachers)} teachers", got=f"{len(teacher_names)} names"
            )
        teachers_shown = [f"'{name}'" for name in teacher_names or range(len(teachers))]
        sets = [
            clean_names(labels, f"teacher {teacher}") for teacher, labels in zip(teachers_shown, teachers, strict=True)
        ]
        for teacher, labels in zip(teachers_shown, sets, strict=True):
            if len(labels) < 2:
                raise AlloyError(
                    expected=f"at least 2 labels from teacher {teacher}",
                    got=f"{len(labels)} ({quoted(labels)})",
                    hint="A classifier with one label gives no confidence. Leave this teacher out.",
                )
        renamed = _checked_aliases(aliases or {}, set(chain(*sets)))
        sets = [tuple(renamed.get(name, name) for name in labels) for labels in sets]
        for teacher, labels in zip(teachers_shown, sets, strict=True):
            refuse_repeats(labels, f"teacher {teacher}, after aliases")
        none_of_others = _checked_catch_all(sets, catch_all, keep_apart, teachers_shown)
        if keep_apart is not False:
            sets = _keep_apart(sets, keep_apart, teacher_names, none_of_others)
        names = tuple(dict.fromkeys(chain(*sets)))
        return cls(names, tuple(sets), tuple(name for name in names if name in none_of_others))

    @property
    def size(self) -> int:
        """C, the number of labels in the union."""
        return len(self.names)

    @property
    def n_teachers(self) -> int:
        """N, the number of teachers."""
        return len(self.teachers)

    @property
    def id2label(self) -> dict[int, str]:
        """Position -> name, as Hugging Face configs want it. A new dictionary each time."""
        return dict(enumerate(self.names))

    @property
    def label2id(self) -> dict[str, int]:
        """Name -> position, as Hugging Face configs want it. A new dictionary each time."""
        return dict(self._positions)

    @property
    def overlapping(self) -> bool:
        """Whether any label belongs to two or more teachers."""
        return sum(map(len, self.teachers)) > self.size

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def _indices(self) -> dict[tuple[int, torch.device], Tensor]:
        cpu = torch.device("cpu")
        return {(i, cpu): torch.tensor([self._positions[n] for n in t]) for i, t in enumerate(self.teachers)}

    def _index_on(self, teacher: int, device: torch.device) -> Tensor:
        # One copy per device: scatter and gather run in every training step, and a copy to a GPU takes time.
        if (teacher, device) not in self._indices:
            self._indices[teacher, device] = self.index(teacher).to(device)
        return self._indices[teacher, device]

    def index(self, teacher: int) -> Tensor:
        """Positions in the union of the teacher's labels: int64 [C_i], on the CPU. Do not write to it. AlloyError for a number that is no teacher's."""
        if not 0 <= teacher < self.n_teachers:
            raise AlloyError(expected=f"a teacher number from 0 to {self.n_teachers - 1}", got=str(teacher))
        return self._indices[teacher, torch.device("cpu")]

    def scatter(self, teacher: int, values: Tensor, fill: float = 0.0) -> Tensor:
        """Pad_i: put values [..., C_i] at the teacher's labels and `fill` elsewhere.

        Returns [..., C], a new tensor of the same dtype and device; gradients flow to `values`.
        Raises AlloyError when the last dimension is not C_i, and for a number that is no teacher's.
        """
        index = self._fitting_index(teacher, values, len(self.index(teacher)))
        return values.new_full((*values.shape[:-1], self.size), fill).index_copy_(-1, index, values)

    def gather(self, teacher: int, values: Tensor) -> Tensor:
        """Take the teacher's labels, in its own order, out of values [..., C]: a new tensor [..., C_i].

        Same dtype and device; gradients flow to `values`. Raises AlloyError when the last dimension is not C, and for a number that is no
        teacher's.
        """
        return values.index_select(-1, self._fitting_index(teacher, values, self.size))

    def _fitting_index(self, teacher: int, values: Tensor, width: int) -> Tensor:
        if values.ndim == 0 or values.shape[-1] != width:
            wanted = f"values of shape [..., {width}] for teacher {teacher}"
            raise AlloyError(expected=wanted, got=f"shape {list(values.shape)}")
        return self._index_on(teacher, values.device)

    def has_label(self) -> Tensor:
        """Whether teacher i has label c: bool [N, C]. Do not write to it."""
        return self._has_label

    @cached_property
    def _has_label(self) -> Tensor:  # methods ask for it in every training step
        found = torch.zeros(self.n_teachers, self.size, dtype=torch.bool)
        for i in range(self.n_teachers):
            found[i, self.index(i)] = True
        return found

    def shared(self) -> dict[str, tuple[int, ...]]:
        """Label -> its teachers, for the labels of two or more teachers, in the order of `names`."""
        having: dict[str, list[int]] = {name: [] for name in self.names}
        for i, labels in enumerate(self.teachers):
            for name in set(labels):
                having[name].append(i)
        return {name: tuple(teachers) for name, teachers in having.items() if len(teachers) > 1}

    def components(self) -> Tensor:
        """Which connected component each label of the union is in: int64 [C].

        Labels of one teacher are connected. So two teachers are in one component if a chain of shared labels
        connects them. Components are numbered by their first teacher: for disjoint sets the number is the
        teacher's. Do not write to it.
        """
        return self._components

    @cached_property
    def _components(self) -> Tensor:  # methods ask for it in every training step
        root = list(range(self.n_teachers))
        for teachers in self.shared().values():
            joined = {root[i] for i in teachers}
            root = [min(joined) if r in joined else r for r in root]
        number = {r: n for n, r in enumerate(sorted(set(root)))}
        component = {name: number[root[i]] for i, labels in enumerate(self.teachers) for name in labels}
        return torch.tensor([component[name] for name in self.names])

    def position(self, name: str) -> int:
        """The position of a label in the union. AlloyError, with similar names, if it is unknown."""
        if name not in self._positions:
            raise unknown_name("a label of the union", name, self.names)
        return self._positions[name]


def _checked_aliases(aliases: Mapping[str, str], known: set[str]) -> dict[str, str]:
    alias = {old.strip(): new.strip() for old, new in aliases.items()}
    for old, new in alias.items():
        if old not in known:
            raise unknown_name("an alias for a label that a teacher has", old, sorted(known))
        if not new:
            raise AlloyError(expected=f"a name for the alias of '{old}'", got="an empty one")
        # a -> b -> c could mean b or c for a: refuse it instead of guessing.
        if alias.get(new, new) != new:
            raise AlloyError(
                expected="aliases that give the final name directly",
                got=f"'{old}' -> '{new}' -> '{alias[new]}'",
                hint=f"Write `{old}: {alias[new]}`.",
            )
    return alias


def _checked_catch_all(
    sets: list[tuple[str, ...]], catch_all: Collection[str], keep_apart: bool | Collection[str], teachers: list[str]
) -> set[str]:
    if isinstance(catch_all, str):
        raise AlloyError(
            expected="a list of labels that mean 'none of the teacher's other labels'", got=shown(catch_all)
        )
    chosen, known = {name.strip() for name in catch_all}, set(chain(*sets))
    for name in sorted(chosen - known):
        raise unknown_name("a label for `catch_all` that a teacher has (after aliases)", name, sorted(known))
    both = chosen & (set() if isinstance(keep_apart, bool) else {name.strip() for name in keep_apart})
    if both:
        raise AlloyError(
            expected="each label either in `catch_all` or in `keep_apart`",
            got=f"{quoted(sorted(both))} in both",
            hint="`catch_all`: it means 'none of the teacher's other labels'. `keep_apart`: it is a class of its own for each teacher.",
        )
    for teacher, labels in zip(teachers, sets, strict=True):
        if chosen.issuperset(labels):
            raise AlloyError(
                expected=f"a label of teacher {teacher} that is not in `catch_all`",
                got=quoted(labels),
                hint="Such a label means 'none of the teacher's other labels'. Take one of them out of `catch_all`.",
            )
    return chosen


def _keep_apart(
    sets: list[tuple[str, ...]], keep_apart: bool | Collection[str], teachers: Sequence[str] | None, joined: set[str]
) -> list[tuple[str, ...]]:
    if isinstance(keep_apart, str):
        raise AlloyError(expected="true or a list of label names to keep apart", got=shown(keep_apart))
    counts = Counter(chain(*sets))
    chosen = set(counts) - joined if isinstance(keep_apart, bool) else {name.strip() for name in keep_apart}
    for name in sorted(chosen - set(counts)):
        raise unknown_name("a label to keep apart that a teacher has (after aliases)", name, sorted(counts))
    separate = {name for name in chosen if counts[name] > 1}
    if not separate:
        return sets
    if teachers is None or len(set(teachers)) != len(teachers):
        raise AlloyError(
            expected=f"a different name for each teacher, to keep {quoted(sorted(separate))} apart",
            got="no names" if teachers is None else quoted(teachers),
        )
    new = [tuple(f"{t}/{n}" if n in separate else n for n in s) for t, s in zip(teachers, sets, strict=True)]
    # A prefixed name that equals another teacher's label would join labels that must stay apart.
    if len(set(chain(*new))) != sum(counts[name] if name in separate else 1 for name in counts):
        raise AlloyError(
            expected="no label that equals another teacher's '<teacher>/<label>'",
            got=quoted(dict.fromkeys(chain(*new))),
            hint="Rename that teacher, or the label with '/' in it.",
        )
    return new
