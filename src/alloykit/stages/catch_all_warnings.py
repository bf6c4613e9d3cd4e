"""Labels whose name probably means "none of this teacher's other labels", and warnings about them."""

from __future__ import annotations

from collections.abc import Sequence

from alloykit.labels import LabelSpace
from alloykit.names import quoted, short

NAMES = frozenset(
    (
        "fallback", "misc", "miscellaneous", "no intent", "none", "none of the above", "none of these", "oos", "other", "others", "out of domain",
        "out of scope", "rest", "something else", "unknown",
    )
)  # fmt: skip


def likely_catch_all(space: LabelSpace) -> list[str]:
    """The labels with a usual name for "none of the others". None if all teachers have the same labels, or if a teacher has only such labels."""
    likely = [
        name for name in space.names if " ".join(name.lower().replace("_", " ").replace("-", " ").split()) in NAMES
    ]
    sets = [set(labels) for labels in space.teachers]
    return [] if all(s == sets[0] for s in sets) or any(s <= set(likely) for s in sets) else likely


def catch_all_warnings(space: LabelSpace, teachers: Sequence[str], given: Sequence[str] | None) -> list[str]:
    """One sentence for each such label. None if the recipe says which labels mean it.

    given: the recipe's `labels: {catch_all: …}`; None if it has none."""
    if given is not None:
        return []
    found = []
    for name in likely_catch_all(space):
        who = [teacher for teacher, labels in zip(teachers, space.teachers, strict=True) if name in labels]
        found.append(
            f"label '{short(name)}' of teacher{'s' if len(who) > 1 else ''} {quoted(who)}: if it means 'none of this teacher's other labels', set "
            f"`labels: {{catch_all: [{short(name)}]}}`. A text that gets it is then left to the teachers that name a label. If not, `catch_all: []` "
            "turns this warning off."
        )
    return found
