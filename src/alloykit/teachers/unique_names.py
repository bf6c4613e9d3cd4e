"""A name for every teacher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.teachers.protocol import TeacherSpec


def unique_names(specs: Sequence[TeacherSpec]) -> list[str]:
    """One different name per teacher, safe as a folder name. Names that differ only in upper and lower case are the same, as they are for the file
    systems of macOS and Windows. AlloyError if the recipe gives the same name twice."""
    taken: set[str] = set()
    for spec in specs:  # the names that the recipe gives come first: a teacher without one takes none of them
        if spec.name is not None:
            name = _safe(spec.name)
            if name.casefold() in taken:
                raise AlloyError(
                    expected="a different `name` for each teacher", got=f"'{name}' twice", hint="Rename one of them."
                )
            taken.add(name.casefold())
    names: list[str] = []
    for spec in specs:
        name = base = _safe(spec.name or Path(spec.source).name or spec.source)
        n = 1
        while spec.name is None and name.casefold() in taken:
            n += 1
            name = f"{base}-{n}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "teacher"
