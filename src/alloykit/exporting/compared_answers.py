"""Two classifiers on the same texts: the same labels, the difference of their probabilities, accuracy and speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

ROUNDS = 3


def compared_answers(expected: Tensor, found: Tensor) -> dict[str, Any]:
    """Of probabilities, [n, C] each: share of equal labels, largest and mean absolute difference."""
    difference = (expected - found).abs()
    return {
        "texts": len(expected),
        "same_label": round(float((expected.argmax(-1) == found.argmax(-1)).double().mean()), 5),
        "largest_difference": float(f"{float(difference.max()):.3g}"),
        "mean_difference": float(f"{float(difference.mean()):.3g}"),
    }


def accuracy(probabilities: Tensor, labels: Tensor) -> float:
    """probabilities: [n, C]. labels: [n] int64."""
    return round(float((probabilities.argmax(-1) == labels).double().mean()), 5)


def times_as_fast(classify: Callable[[], Any], other: Callable[[], Any]) -> float:
    """Time of `classify` divided by time of `other`: the median of ROUNDS rounds in which each runs once."""
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
