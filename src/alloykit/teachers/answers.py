"""Answers of functions and models in many forms as log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from numbers import Complex, Real
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.names import shown, unknown_name
from alloykit.teachers.protocol import probabilities_as_logits

SUM_TOLERANCE = 0.01  # by which the probabilities of a text may differ from 1 in all
LOG_TOLERANCE = 1e-3  # by which a log-probability may be above 0: services round


def logits_of(answers: Any, labels: Sequence[str], texts: int, teacher: str) -> Tensor:
    """Log-probabilities, [texts, C_i] float32; NaN in the rows of texts without an answer.

    answers: an array or tensor [texts, C_i] of probabilities, in the order of `labels`; or a list with, for each text, a list of
    probabilities, a dictionary label → probability (missing labels have 0), a label alone (it is certain), or None (no answer).
    AlloyError for anything else.
    """
    rows = _listed(answers, teacher)
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Sequence) or len(rows) != texts:
        got = f"{len(rows)} answers" if isinstance(rows, Sequence) else f"a {type(answers).__name__}"
        raise AlloyError(
            expected=f"{texts} answers of teacher '{teacher}' to {texts} texts",
            got=got,
            hint="Return a list with an answer for each text, or an array [texts, labels].",
        )
    owner = f"teacher '{teacher}'"
    found = [probabilities_of_answer(row, labels, owner) for row in islice(rows, texts)]
    if len(found) != texts:
        raise AlloyError(expected=f"{texts} answers of {owner}", got=f"a {type(answers).__name__} of {len(found)}")
    return probabilities_as_logits(torch.tensor(found, dtype=torch.float64))


def _listed(answers: Any, teacher: str) -> Any:
    """An array or tensor as lists; anything else as it is."""
    if not hasattr(answers, "tolist"):
        return answers
    try:
        return answers.tolist()
    except Exception as error:  # a tensor without values, for instance on the device `meta`
        raise AlloyError(
            expected=f"an array of numbers from teacher '{teacher}'",
            got=f"a {type(answers).__name__} that cannot be read ({type(error).__name__})",
            hint="Return probabilities in memory: a list, a numpy array, or a tensor on any device but `meta`.",
        ) from error


def probabilities_of_answer(answer: Any, labels: Sequence[str], owner: str) -> list[float]:
    """One text's probabilities, C_i numbers; NaN for no answer. owner: whose it is, for messages. AlloyError."""
    if answer is None:
        return [math.nan] * len(labels)
    if isinstance(answer, str):
        answer = {answer: 1.0}
    if isinstance(answer, Mapping):
        known = frozenset(labels)
        for label in answer:
            if label not in known:
                raise unknown_name(f"a label of {owner}", str(label), labels)
        answer = [answer.get(label, 0.0) for label in labels]
    try:
        if isinstance(answer, (Set, bytes, bytearray)):
            raise TypeError("it has no order")
        values = [number_of(value) for value in islice(answer, len(labels) + 1)]  # it may have no end
    except (TypeError, ValueError):
        raise AlloyError(
            expected=f"numbers, a label, or a dictionary of labels from {owner}", got=shown(answer)
        ) from None
    if len(values) != len(labels):
        got = f"{len(values)}" if len(values) < len(labels) else "more"
        raise AlloyError(expected=f"{len(labels)} probabilities from {owner}", got=got)
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
    """A value as a float. ValueError for anything but a real number, also for a whole number that is too large for a float."""
    if type(value) is float:  # nearly all values; the checks below take ten times as long
        return value
    if isinstance(value, Complex) and not isinstance(value, Real):  # numpy's would lose a part of itself
        raise ValueError("a complex number")
    try:
        return float(value)
    except Exception as error:  # of a foreign type's own, or of a tensor without values
        raise ValueError(f"no number: {type(error).__name__}") from None


def log_probability_of(value: Any) -> float:
    """A log-probability as a float, at most 0. ValueError for anything else, such as a probability or a percentage."""
    number = number_of(value)
    if not number <= LOG_TOLERANCE:  # NaN is refused as well
        raise ValueError("not a log-probability")
    return min(0.0, number)


def spread_probabilities(named: Mapping[str, float], labels: Sequence[str]) -> list[float]:
    """Probabilities of all labels: what the named ones leave goes in equal parts to the others."""
    total, others = sum(named.values()), len(labels) - len(named)
    rest = max(0.0, 1 - total) / others if others else 0.0
    found = [named.get(label, rest) for label in labels]
    whole = sum(found)
    return [value / whole for value in found] if whole else [1 / len(labels)] * len(labels)
