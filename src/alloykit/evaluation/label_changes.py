"""What changed from an earlier student to a later one, per label."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloykit.evaluation.significance import ALPHA, holm, interval, mcnemar, paired_interval

GivenAnswer = str | Collection[str]
"""One label, or all labels of a text that may have several."""
Flags = NDArray[np.bool_]
WORSE, BETTER, SAME, NEW, GONE = "worse", "better", "no significant difference", "new label", "no longer a label"


def changes_on_test(
    old: Sequence[GivenAnswer],
    new: Sequence[GivenAnswer],
    truth: Sequence[GivenAnswer],
    labels: Sequence[str],
    known: Collection[str],
) -> dict[str, Any]:
    """Two students on the same labelled texts. old, new: their answers by name, [n]. truth: the true labels. labels: all that the new one
    knows; known: those that the old one knew. A label that the old one did not know is wrong for it.

    `overall`, where a text is right with exactly the true labels, and `labels` for each label with texts: `texts`; `old` and `new`, the accuracy on the
    label's texts; `difference`, new − old, with its 95 % interval `low` to `high`; `p` of McNemar's exact test; in `labels` also `p_holm`,
    corrected over all labels, the precisions, and `change`. `regressed`, `improved`: labels whose difference is significant, the largest first.
    """
    a, b, y = (_sets(values) for values in (old, new, truth))
    overall = _compared(_equal(a, y), _equal(b, y))
    found: dict[str, dict[str, Any]] = {}
    for label in labels:
        before, now, mine = (_has(label, values) for values in (a, b, y))
        if mine.any():
            found[label] = _compared(before[mine], now[mine])
            found[label] |= {"precision_old": _precision(before, mine), "precision_new": _precision(now, mine)}
    for label, p in zip(found, holm([row["p"] for row in found.values()]), strict=True):
        found[label]["p_holm"] = p
        sign = WORSE if found[label]["difference"] < 0 else BETTER
        found[label]["change"] = NEW if label not in known else sign if p < ALPHA else SAME
    by = sorted(found, key=lambda label: (found[label]["difference"], label))
    return {
        "texts": len(y),
        "overall": overall,
        "labels": found,
        "regressed": [label for label in by if found[label]["change"] == WORSE],
        "improved": [label for label in reversed(by) if found[label]["change"] == BETTER],
        "untested": [label for label in labels if label not in found],
    }


def changes_on_pool(
    old: Sequence[GivenAnswer], new: Sequence[GivenAnswer], labels: Sequence[str], known: Sequence[str]
) -> dict[str, Any]:
    """Two students on the same texts without labels. Per label of either student: `old` and `new`, how many texts have it; `same`, the share
    of the old student's texts with this label that still have it, with its 95 % `interval`; None for a label without texts before."""
    a, b = _sets(old), _sets(new)
    found = {}
    for label in [*labels, *(name for name in known if name not in labels)]:
        before, now = _has(label, a), _has(label, b)
        found[label] = {
            "old": int(before.sum()),
            "new": int(now.sum()),
            "same": float(now[before].mean()) if before.any() else None,
            "interval": interval(now[before]) if before.any() else None,
            "change": GONE if label not in labels else NEW if label not in known else "",
        }
    same = _equal(a, b)
    return {"texts": len(a), "same": float(same.mean()), "interval": interval(same), "labels": found}


def _compared(old: Flags, new: Flags) -> dict[str, Any]:
    difference = paired_interval(new, old)
    return {
        "texts": len(old),
        "old": float(old.mean()),
        "new": float(new.mean()),
        "interval_old": interval(old),
        "interval_new": interval(new),
        "difference": difference["difference"],
        "low": difference["low"],
        "high": difference["high"],
        "p": mcnemar(new, old),
    }


def _precision(given: Flags, true: Flags) -> float | None:
    return float(true[given].mean()) if given.any() else None


def _sets(answers: Sequence[GivenAnswer]) -> list[frozenset[str]]:
    return [frozenset((answer,)) if isinstance(answer, str) else frozenset(answer) for answer in answers]


def _has(label: str, answers: Sequence[frozenset[str]]) -> Flags:
    return np.fromiter((label in answer for answer in answers), dtype=bool, count=len(answers))


def _equal(one: Sequence[frozenset[str]], other: Sequence[frozenset[str]]) -> Flags:
    return np.fromiter((a == b for a, b in zip(one, other, strict=True)), dtype=bool, count=len(one))
