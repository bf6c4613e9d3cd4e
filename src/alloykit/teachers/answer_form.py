"""The answer in a row of a file. A row has one of three forms:

- A column for every label: probabilities, or logits.
- A label and its confidence p: p(label) = p, and (1 − p) / (C − 1) for each other label.
- The k best labels with log-probabilities: p = exp(log-probability). What is missing to 1 goes in equal parts to the labels that are not named. If
  nothing is missing, or no label is left, the named ones are divided by their sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from alloykit.data.answer_files import answer_rows
from alloykit.errors import AlloyError
from alloykit.names import shown
from alloykit.teachers.answers import log_probability_of, number_of, probabilities_of_answer, spread_probabilities

MAX_LABELS = 10_000
MAX_LOGIT = 1e30


@dataclass(frozen=True)
class AnswerForm:
    """The form of a file's rows. `where`: the file, for messages. The other fields are columns, as in `AnswersSpec`."""

    where: str
    values: Literal["probabilities", "logits"]
    label: str | None
    confidence: str | None
    certainty: float | None
    top: str | None

    def columns(self, labels: Sequence[str]) -> list[str]:
        """The columns with the answer."""
        if self.top:
            return [self.top]
        if self.label:
            return [self.label, *([self.confidence] if self.confidence else [])]
        return list(labels)

    def named_labels(self, files: Sequence[Path]) -> set[str]:
        """The labels that the rows name in the columns `label` or `top`. AlloyError if they are too many."""
        found = set[str]()
        for (cell,) in answer_rows(files, [self.top or self.label or ""]):
            if not _empty(cell):
                found |= set(_best(cell, self.where)) if self.top else {str(cell).strip()}
                if len(found) > MAX_LABELS:
                    raise too_many_labels(self.where)
        return found

    def answered(self, cell: Any, labels: Sequence[str]) -> str | None:
        """The label that a row answers: of `top` the one with the largest log-probability, and of equal ones a listed one. None without an answer,
        and where every label has a column."""
        if not (self.label or self.top) or _empty(cell):
            return None
        if self.label:
            return str(cell).strip()
        best = _best(cell, self.where)
        return max(best, key=lambda label: (best[label], label in labels), default=None)

    def answer(self, cells: Sequence[Any], labels: Sequence[str]) -> list[float]:
        """Probabilities or logits of one row, in the order of the labels; NaN for no answer. cells: of `columns`. AlloyError."""
        if all(map(_empty, cells)) or _empty(cells[0]):
            return [math.nan] * len(labels)
        if self.top:
            best = _best(cells[0], self.where)
            if not best:  # it names no label
                return [math.nan] * len(labels)
            known = frozenset(labels)
            named = {label: math.exp(value) for label, value in best.items() if label in known}
            return spread_probabilities(named, labels)
        if self.label:
            label = str(cells[0]).strip()
            confidence = self.certainty if self.certainty is not None else _number(cells[1], self.where)
            if not 0 <= confidence <= 1:
                raise AlloyError(expected=f"confidences from 0 to 1 in {self.where}", got=shown(cells[1]))
            return spread_probabilities({label: confidence}, labels)
        values = [_number(cell, self.where) for cell in cells]
        if self.values == "logits":
            if wrong := [value for value in values if abs(value) > MAX_LOGIT]:
                raise AlloyError(expected=f"logits of at most {MAX_LOGIT:g} in {self.where}", got=f"{wrong[0]:g}")
            return values
        return probabilities_of_answer(values, labels, self.where)


def too_many_labels(where: str, most: int = MAX_LABELS) -> AlloyError:
    return AlloyError(
        expected=f"at most {most:,} labels in {where}",
        got="more",
        hint="Name the labels with `labels:`, or the right column as `label` or `top`. Without these, every column but the text is a label.",
    )


def _best(cell: Any, where: str) -> dict[str, float]:
    """{label: log-probability} of a cell of `top`."""
    try:
        found = json.loads(cell) if isinstance(cell, str) else cell
        if isinstance(found, Mapping):
            pairs = [(k, v) for k, v in found.items() if v is not None]
        else:
            pairs = [(e["label"], e["logprob"]) if isinstance(e, Mapping) else tuple(e) for e in found]
        numbers = {str(label).strip(): number_of(value) for label, value in pairs}
        if any(map(math.isnan, numbers.values())):
            raise ValueError("not a number")
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise AlloyError(
            expected=f"the best labels as {{label: log-probability}} or a list of {{label, logprob}} in {where}",
            got=shown(cell),
        ) from error
    try:
        return {label: log_probability_of(value) for label, value in numbers.items()}
    except ValueError as error:
        raise AlloyError(
            expected=f"log-probabilities, none above 0, in the column of `top` in {where}",
            got=shown(cell),
            hint="Take the logarithm of probabilities. Or give every label a column of its own with its probability, or logit (`values: logits`), or "
            "name the columns of the best label and of its probability with `label` and `confidence`.",
        ) from error


def _number(cell: Any, where: str) -> float:
    try:
        value = number_of(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise AlloyError(
            expected=f"numbers in the columns of the answers in {where}",
            got=shown(cell),
            hint="Leave all of a row's answers empty where there is none. If a column has labels in place of numbers, name it: `label: COLUMN, "
            "certainty: 0.9`. If only some columns are labels, list them: `labels: [bug, login]`.",
        )
    return value


def _empty(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))
