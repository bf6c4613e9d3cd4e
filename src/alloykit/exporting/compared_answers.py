"""Compare two classifiers on the same texts: equal labels, difference of probabilities, accuracy and speed."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from alloykit.labels import GIVEN
from alloykit.models.questions import QuestionPart
from alloykit.stats.none_of_these import UNUSUAL

ROUNDS = 3


def compared_answers(expected: Tensor, found: Tensor, parts: Sequence[QuestionPart] = ()) -> dict[str, Any]:
    """The share of equal labels, and the largest and the mean absolute difference. expected, found: probabilities, [n, C] each. parts: of the
    labels, those of each question; without them, all labels exclude each other.

    A multi-label part has equal labels if the same ones have at least 0.5. Of several questions, `same_label` is the smallest share, and
    `questions` has the share of each."""
    difference = (expected - found).abs()
    parts = parts or (QuestionPart("", tuple(map(str, range(expected.shape[-1]))), 0),)
    shares = {part.name: round(float(_same(part.of(expected), part.of(found), part)), 5) for part in parts}
    return {
        "texts": len(expected),
        "same_label": min(shares.values()),
        **({"questions": shares} if len(shares) > 1 or "" not in shares else {}),
        "largest_difference": float(f"{float(difference.max()):.3g}"),
        "mean_difference": float(f"{float(difference.mean()):.3g}"),
    }


def compared_scores(expected: Tensor, found: Tensor) -> dict[str, float]:
    """The same of `none_of_these`, [n] each: the share of texts that both, or neither, call unusual, and the differences."""
    difference = (expected - found).abs()
    return {
        "same_side": round(float(((expected >= UNUSUAL) == (found >= UNUSUAL)).double().mean()), 5),
        "largest_difference": float(f"{float(difference.max()):.3g}"),
        "mean_difference": float(f"{float(difference.mean()):.3g}"),
    }


def rounded_down(share: float) -> str:
    """Rounded down to two decimals, so that 0.98999 is not shown as 99 %."""
    return f"{math.floor(1e4 * share + 1e-9) / 100:g} %"


def accuracy(probabilities: Tensor, labels: Tensor) -> float:
    """The share of texts with the true label. labels: [n] int64; or [n, C] bool, and then the share of texts with exactly the true labels.
    probabilities: [n, C]."""
    if labels.dim() > 1:
        return round(float(((probabilities >= GIVEN) == labels).all(-1).double().mean()), 5)
    return round(float((probabilities.argmax(-1) == labels).double().mean()), 5)


def _same(expected: Tensor, found: Tensor, part: QuestionPart) -> Tensor:
    if part.multi_label:
        return ((expected >= GIVEN) == (found >= GIVEN)).all(-1).double().mean()
    return (expected.argmax(-1) == found.argmax(-1)).double().mean()


def times_as_fast(classify: Callable[[], Any], other: Callable[[], Any]) -> float:
    """How many times as fast `other` is: the time of `classify` divided by that of `other`. The median of ROUNDS rounds, in which each runs once."""
    ratios = []
    for n in range(ROUNDS + 1):
        times = []
        for run in (classify, other):
            begun = time.perf_counter()
            run()
            times.append(time.perf_counter() - begun)
        if n:  # the first round does not count
            ratios.append(times[0] / times[1])
    return round(statistics.median(ratios), 2)
