"""Check what a method needs of teachers and texts before it runs."""

from __future__ import annotations

from dataclasses import replace

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, Supervision
from alloykit.outputs import Rows


def require(method: Method, *, n_teachers: int, has_labels: bool) -> None:
    """AlloyError if something that the method needs is missing."""
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


def supervised(method: Method, rows: Rows, context: Context, texts: int) -> Supervision | None:
    """The method's supervision of `texts` texts; one that no teacher has an answer to gets the weight 0. TypeError if it is not a valid supervision, or if a method with a single target gives none."""
    found = method.supervise(rows, context)
    if found is None:
        if method.single_target:
            raise TypeError(
                f"supervise() of method '{method.name}' gave None; `single_target = False` says that it may"
            )
        return None
    if (answered := rows.answered()) is not None and method.needs.teachers:  # nobody teaches a text without any answer
        some = answered.any(-1)
        found = replace(found, weights=found.weights * some.to(found.weights))
    n, c = len(context.space.teachers), context.space.size
    shapes = {"targets": (texts, c), "weights": (texts,), "teacher_weights": (texts, n)}
    for name, wanted in shapes.items():
        value = getattr(found, name)
        if value is not None and tuple(value.shape) != wanted:
            raise TypeError(
                f"supervise() of method '{method.name}' gave {name} of shape {tuple(value.shape)}; expected {wanted}"
            )
    return found


def unequal_counts(space: LabelSpace) -> str | None:
    """A text with the smallest and largest number of labels of a teacher, if they differ by more than 1 : 3; else None."""
    counts = [len(labels) for labels in space.teachers]
    return f"teachers know from {min(counts)} to {max(counts)} labels" if max(counts) > 3 * min(counts) else None
