"""Check what a method needs of teachers and texts before it runs."""

from __future__ import annotations

from dataclasses import replace

import torch

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


def require_several(method: Method, processes: int) -> None:
    """AlloyError if several processes cannot train this method's student together."""
    if processes > 1 and method.phases() and not method.several_processes:
        raise AlloyError(
            expected=f"a method whose student {processes} processes can train together",
            got=f"'{method.name}', whose student only one process can train",
            hint="Start one process, without `torchrun` or `accelerate launch`, or take another method.",
        )


def require_few_labels(method: Method) -> None:
    """AlloyError if the method cannot use the recipe's `labelled:`."""
    needs = method.needs
    if needs.labels:
        why = "it learns from the labels of all texts; add the labelled texts to `texts:`"
    elif not method.phases():
        why = "it has no student that could learn them"
    elif needs.phase_data:
        why = "its student learns from examples that the method makes"
    elif needs.token_states or needs.attention_scores:
        why = "it keeps its teachers in memory during training"
    elif method.batch_coupled:
        why = "its loss is computed over whole batches"
    else:
        return
    raise AlloyError(
        expected="a method that can use a few labelled texts (`labelled:`)",
        got=f"method '{method.name}': {why}",
        hint="Leave `labelled:` out, or use another method, such as `alloy`.",
    )


def supervised(method: Method, rows: Rows, context: Context, texts: int) -> Supervision | None:
    """The method's supervision of `texts` texts. A text that no teacher has an answer to gets the weight 0. TypeError if it has
    other shapes, or if a method with a single target gives none; ValueError if a value is negative or not finite. It is computed where float64 can be,
    and then is where the rows are. If the rows have their supervision, it is that one."""
    if rows.supervision is not None:
        return Supervision(**rows.supervision)
    place = rows.teachers[0].logits.device if rows.teachers else None
    found = method.supervise(rows.in_float64(), context)
    if found is None:
        if method.single_target:
            raise TypeError(
                f"supervise() of method '{method.name}' gave None; `single_target = False` says that it may"
            )
        return None
    if (answered := rows.counts()) is not None and method.needs.teachers:  # no teacher teaches a text without an answer
        some = answered.any(-1)
        found = replace(found, weights=found.weights * some.to(found.weights))
    n, c = len(context.space.teachers), context.space.size
    shapes = {"targets": (texts, c), "weights": (texts,), "teacher_weights": (texts, n), "counts": (texts,)}
    for name, wanted in shapes.items():
        value = getattr(found, name)
        if value is None:
            continue
        gave = f"supervise() of method '{method.name}' gave {name}"
        if tuple(value.shape) != wanted:
            raise TypeError(f"{gave} of shape {tuple(value.shape)}; expected {wanted}")
        if not bool(((value >= 0) & (value < torch.inf)).all()):
            raise ValueError(f"{gave} with a negative, infinite or NaN value; expected finite values of at least 0")
    return found if place is None else found.on(place)


def unequal_counts(space: LabelSpace) -> str | None:
    """A text with the smallest and largest number of labels of a teacher, if they differ by more than 1 : 3; else None."""
    counts = [len(labels) for labels in space.teachers]
    return f"teachers know from {min(counts)} to {max(counts)} labels" if max(counts) > 3 * min(counts) else None
