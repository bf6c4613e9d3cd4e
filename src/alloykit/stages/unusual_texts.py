"""The most unusual texts of the pool, for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from alloykit.data import Texts
from alloykit.stats.none_of_these import UNUSUAL, NoneOfThese

SHOWN = 20  # texts that the report lists


def unusual_texts(fitted: NoneOfThese, share: Tensor, labels: Sequence[str], rows: Sequence[int]) -> dict[str, Any]:
    """With how many texts new ones are compared, whether the student did not learn from these, and the most unusual texts.

    share: `none_of_these` of n texts. labels: the student's answer to each, in words. rows: their positions in the input."""
    order = sorted(range(len(rows)), key=lambda i: (-float(share[i]), rows[i]))[:SHOWN]
    return {
        "threshold": UNUSUAL,
        "texts": len(fitted.reference),
        "unseen": bool(fitted.unseen),
        "most_unusual": [{"row": int(rows[i]), "label": labels[i], "none_of_these": float(share[i])} for i in order],
    }


def add_texts(entries: Iterable[dict[str, Any]], texts: Texts, position: Mapping[int, int]) -> None:
    """Add the text to each entry. position: of a row of the input, its place in the table."""
    for entry in entries:
        row = texts.table[position[entry["row"]]]
        entry["text"] = row["text"]
        if row.get("text_pair"):
            entry["text_pair"] = row["text_pair"]
