"""Teachers in Python's memory. The recipe holds their fingerprint; the object itself is found by it, in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from pydantic import PrivateAttr

from alloykit.errors import AlloyError
from alloykit.teachers.protocol import TeacherInfo, TeacherSpec


class HeldTeacher(ABC):
    """An object in memory that can be a teacher. `fingerprint`: what identifies it; `kind`: what it is, in words."""

    fingerprint: str
    kind: str
    name: str | None

    @property
    def spec(self) -> InMemoryTeacherSpec:
        """Its entry in a recipe."""
        _HELD[self.fingerprint] = self
        return InMemoryTeacherSpec(in_memory=self.fingerprint, kind=self.kind, name=self.name)

    @abstractmethod
    def describe(self, name: str, spec: InMemoryTeacherSpec) -> TeacherInfo:
        """What is known of it. AlloyError."""


_HELD: WeakValueDictionary[str, HeldTeacher] = WeakValueDictionary()


class InMemoryTeacherSpec(TeacherSpec):
    """In the recipe of a run folder: a teacher that came from Python, not from a file."""

    key: ClassVar[str] = "in_memory"

    in_memory: str
    """Fingerprint of the teacher."""
    kind: str = "teacher"
    """What it was."""

    _held: Any = PrivateAttr(None)  # keeps the object as long as the recipe

    def model_post_init(self, context: Any) -> None:
        self._held = _HELD.get(self.in_memory)

    @property
    def source(self) -> str:
        return f"{self.kind} in memory"

    @property
    def bound(self) -> str | None:
        return "it comes from the memory of this process"

    def describe(self, name: str) -> TeacherInfo:
        if self._held is None:
            raise AlloyError(
                expected=f"teacher '{name}', a {self.kind} that was passed from Python's memory",
                got="a recipe that has only its fingerprint",
                hint="Call alloykit.amalgamate with the same teachers again; for a finished run pass them to "
                "alloykit.evaluate(run, teachers=[…]).",
            )
        found: TeacherInfo = self._held.describe(name, self)
        return found
