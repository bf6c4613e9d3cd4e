"""Answers of functions and models in many forms as log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.names import shown, unknown_name
from alloykit.teachers.protocol import probabilities_as_logits

SUM_TOLERANCE = 0.01  # by which the probabilities of a text may differ from 1 in all


def logits_of(answers: Any, labels: Sequence[str], texts: int, teacher: str) -> Tensor:
    """Log-probabilities, [texts, C_i] float32; NaN in the rows of texts without an answer.

    answers: an array or tensor [texts, C_i] of probabilities, in the order of `labels`; or a list with, for each text, a list of
    probabilities, a dictionary label → probability (missing labels have 0), a label alone (it is certain), or None (no answer).
    AlloyError for anything else.
    """
    rows = answers.tolist() if hasattr(answers, "tolist") else answers
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Sequence) or len(rows) != texts:
        got = f"{len(rows)} answers" if isinstance(rows, Sequence) else f"a {type(answers).__name__}"
        raise AlloyError(expected=f"{texts} answers of teacher '{teacher}' to {texts} texts", got=got)
    return probabilities_as_logits(
        torch.tensor(
            [probabilities_of_answer(row, labels, f"teacher '{teacher}'") for row in rows], dtype=torch.float64
        )
    )


def probabilities_of_answer(answer: Any, labels: Sequence[str], owner: str) -> list[float]:
    """One text's probabilities, C_i numbers; NaN for no answer. owner: whose it is, for messages. AlloyError."""
    if answer is None:
        return [math.nan] * len(labels)
    if isinstance(answer, str):
        answer = {answer: 1.0}
    if isinstance(answer, Mapping):
        for label in answer:
            if label not in labels:
                raise unknown_name(f"a label of {owner}", str(label), labels)
        answer = [answer.get(label, 0.0) for label in labels]
    try:
        values = [number_of(value) for value in answer]
    except (TypeError, ValueError):
        raise AlloyError(
            expected=f"numbers, a label, or a dictionary of labels from {owner}", got=shown(answer)
        ) from None
    if len(values) != len(labels):
        raise AlloyError(expected=f"{len(labels)} probabilities from {owner}", got=f"{len(values)}")
    if all(map(math.isnan, values)):
        return values
    check_probabilities(values, owner)
    return values


def check_probabilities(values: Sequence[float], owner: str) -> None:
    """AlloyError unless these are probabilities that sum to about one."""
    if not all(math.isfinite(v) and v >= 0 for v in values) or abs(sum(values) - 1) > SUM_TOLERANCE:
        raise AlloyError(
            expected=f"probabilities from {owner}: none negative, 1 in all",
            got=shown([round(v, 4) if math.isfinite(v) else v for v in values]),
            hint="Of logits take the softmax first. A text without an answer gets None.",
        )


def number_of(value: Any) -> float:
    """A value as a float. ValueError for anything but a number, also for a whole number that is too large for a float."""
    try:
        return float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"no number: {error}") from None


def spread_probabilities(named: Mapping[str, float], labels: Sequence[str]) -> list[float]:
    """Probabilities of all labels: what the named ones leave goes in equal parts to the others."""
    total, others = sum(named.values()), len(labels) - len(named)
    rest = max(0.0, 1 - total) / others if others else 0.0
    found = [named.get(label, rest) for label in labels]
    whole = sum(found)
    return [value / whole for value in found] if whole else [1 / len(labels)] * len(labels)
