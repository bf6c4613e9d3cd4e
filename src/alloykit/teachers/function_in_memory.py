"""`alloykit.Teacher`: a Python function as a teacher."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.names import clean_names, quoted, shown
from alloykit.teachers.function import Function, FunctionInfo
from alloykit.teachers.in_memory import HeldTeacher, InMemoryTeacherSpec


class Teacher(HeldTeacher):
    """A Python function as a teacher, for `amalgamate(teachers=[…])`.

    function: gets a list of texts (of pairs of texts where the recipe's texts are pairs), and returns for each of them a list of
    probabilities in the order of `labels`, a dictionary label → probability, a label alone, or None for no answer. An array
    [texts, labels] will do too. labels: at least two. name: in reports. version: change it whenever the function gives other answers;
    32 fixed texts are asked too, so that most changes are noticed anyway.

    AlloyError for wrong arguments.
    """

    kind = "function"

    def __init__(
        self,
        function: Function,
        labels: Sequence[str],
        name: str | None = None,
        version: str = "",
        *,
        kind: str = "function",
    ) -> None:
        if not callable(function):
            raise AlloyError(expected="a function as teacher", got=f"a {type(function).__name__}")
        own = getattr(function, "__name__", "")
        self.function, self.kind = function, kind
        self.name = name or (own.strip("<>_") if isinstance(own, str) else "") or kind
        for what, text in (("name", self.name), ("version", version)):
            if not isinstance(text, str):
                raise AlloyError(expected=f"a text as {what} of a teacher", got=shown(text))
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise AlloyError(expected=f"a list of label names for teacher '{self.name}'", got=shown(labels))
        self.labels = clean_names(list(labels), f"teacher '{self.name}'")
        if len(self.labels) < 2:
            raise AlloyError(
                expected=f"two labels or more for teacher '{self.name}'", got=quoted(self.labels) or "none"
            )
        self.fingerprint = digest([self.kind, self.name, self.labels, version])

    def describe(self, name: str, spec: InMemoryTeacherSpec) -> FunctionInfo:
        return FunctionInfo(name, spec, self.labels, self.function, self.fingerprint)
