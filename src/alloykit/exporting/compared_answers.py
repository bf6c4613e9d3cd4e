"""Compare two classifiers on the same texts: equal labels, difference of probabilities, accuracy and speed."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from alloykit.stats.none_of_these import UNUSUAL

ROUNDS = 3


def compared_answers(expected: Tensor, found: Tensor) -> dict[str, Any]:
    """The share of equal labels, and the largest and the mean absolute difference. expected, found: probabilities, [n, C] each."""
    difference = (expected - found).abs()
    return {
        "texts": len(expected),
        "same_label": round(float((expected.argmax(-1) == found.argmax(-1)).double().mean()), 5),
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
    """probabilities: [n, C]. labels: [n] int64."""
    return round(float((probabilities.argmax(-1) == labels).double().mean()), 5)


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
