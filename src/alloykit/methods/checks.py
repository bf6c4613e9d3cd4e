"""What is asked of teachers and texts before a method runs."""

from __future__ import annotations

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.base import Method


def require(method: Method, *, n_teachers: int, has_labels: bool) -> None:
    """Refuse clearly, before any work, what the method cannot do without. AlloyError."""
    needs = method.needs
    if needs.labels and not has_labels:
        raise AlloyError(
            expected=f"labelled texts, because method '{method.name}' learns from true labels",
            got="texts without labels",
            hint="Name the column in the recipe (`texts: {path: …, label: COLUMN}`) or use a method that needs none, "
            "such as `muka`.",
        )
    if n_teachers < needs.teachers:
        raise AlloyError(
            expected=f"at least {needs.teachers} teacher(s) for method '{method.name}'",
            got=f"{n_teachers}",
            hint="List them under `teachers:`.",
        )


def unequal_counts(space: LabelSpace) -> str | None:
    """How few and how many labels the teachers know, if that is more than 1 : 3."""
    counts = [len(labels) for labels in space.teachers]
    return f"teachers know from {min(counts)} to {max(counts)} labels" if max(counts) > 3 * min(counts) else None
