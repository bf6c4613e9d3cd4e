"""A name for every teacher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.teachers.protocol import TeacherSpec


def unique_names(specs: Sequence[TeacherSpec]) -> list[str]:
    """One different name per teacher, safe as a folder name. AlloyError if the recipe gives the same name twice."""
    names: list[str] = []
    for spec in specs:
        base = re.sub(r"[^\w.-]+", "-", spec.name or Path(spec.source).name or spec.source).strip("-.") or "teacher"
        name, n = base, 1
        while name in names:
            if spec.name is not None:
                raise AlloyError(
                    expected="a different `name` for each teacher", got=f"'{base}' twice", hint="Rename one of them."
                )
            n += 1
            name = f"{base}-{n}"
        names.append(name)
    return names
