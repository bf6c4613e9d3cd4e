"""Warnings about labels whose name probably means "none of this teacher's other labels", while the recipe does not say so."""

from __future__ import annotations

from collections.abc import Sequence

from alloykit.labels import LabelSpace
from alloykit.names import quoted

NAMES = frozenset(
    (
        "fallback", "misc", "miscellaneous", "no intent", "none", "none of the above", "none of these", "oos", "other", "others", "out of domain",
        "out of scope", "rest", "something else", "unknown",
    )
)  # fmt: skip


def catch_all_warnings(space: LabelSpace, teachers: Sequence[str], given: Sequence[str] | None) -> list[str]:
    """One sentence for each such label. None if the recipe has `catch_all`, or if the teachers have the same labels.

    given: the recipe's `labels: {catch_all: …}`; None if it has none."""
    if given is not None or all(set(labels) == set(space.teachers[0]) for labels in space.teachers):
        return []
    having = {
        name: [t for t, labels in zip(teachers, space.teachers, strict=True) if name in labels] for name in space.names
    }
    return [
        f"label '{name}' of teacher{'s' if len(who) > 1 else ''} {quoted(who)}: if it means 'none of this teacher's other labels', set "
        f"`labels: {{catch_all: [{name}]}}`. A text that gets it is then left to the teachers that name a label. If not, `catch_all: []` turns this "
        "warning off."
        for name, who in having.items()
        if is_likely(name)
    ]


def is_likely(name: str) -> bool:
    """Whether a label's name is a usual one for "none of the others"."""
    return " ".join(name.lower().replace("_", " ").replace("-", " ").split()) in NAMES
