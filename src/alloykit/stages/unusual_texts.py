"""What `none of these` learns from the pool, and the pool's most unusual texts for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.models.head_input import HeadInput
from alloykit.serving.predictor import Predictor
from alloykit.stats.none_of_these import UNUSUAL, NoneOfThese

SHOWN = 20  # texts that the report lists


def fit_none_of_these(
    student: Predictor, states: Tensor | None, groups: Tensor, unseen: Tensor
) -> tuple[NoneOfThese | None, Tensor]:
    """What `predict --none-of-these` needs, and the score of each text [n]. None, and no scores, for a student without a linear head and for
    states that are all the same. Arguments as for `NoneOfThese.fit`; groups [n] int64: the texts with the same number share a mean."""
    head = HeadInput(student.model).head
    fitted = None
    if states is not None and head is not None:
        fitted = NoneOfThese.fit(states, groups, unseen, head, multi_label=student.multi_label)
    if fitted is None or states is None:
        return None, torch.zeros(0)
    return fitted, fitted.score(fitted.measures(states))


def unusual_texts(fitted: NoneOfThese, scores: Tensor, labels: Sequence[str], rows: Sequence[int]) -> dict[str, Any]:
    """With how many texts new ones are compared, whether the student did not learn from these, and the most unusual texts.

    scores: `none_of_these` of n texts. labels: the student's answer to each, in words. rows: their positions in the input."""
    order = sorted(range(len(rows)), key=lambda i: (-float(scores[i]), rows[i]))[:SHOWN]
    return {
        "threshold": UNUSUAL,
        "texts": len(fitted.reference),
        "unseen": bool(fitted.unseen),
        "most_unusual": [{"row": int(rows[i]), "label": labels[i], "none_of_these": float(scores[i])} for i in order],
    }


def add_texts(entries: Iterable[dict[str, Any]], texts: Texts, position: Mapping[int, int]) -> None:
    """Add the text to each entry. position: of a row of the input, its place in the table."""
    for entry in entries:
        row = texts.table[position[entry["row"]]]
        entry["text"] = row["text"]
        if row.get("text_pair"):
            entry["text_pair"] = row["text_pair"]
