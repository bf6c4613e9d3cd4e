"""Significance of the difference between two classifiers. All tests are paired: both classifiers answered the same texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from scipy.optimize import brentq

ALPHA = 0.05  # significance level, after Holm's correction where several differences are tested
Right = NDArray[np.bool_]
SMALLEST_P = 1e-100  # p is not followed below this


def mcnemar(a: Right, b: Right) -> float:
    """Exact two-sided McNemar test on one test set. a, b: [n] bool, was the answer right? Returns p; 1 if they never differ."""
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def paired_interval(a: Right, b: Right) -> dict[str, float]:
    """Difference of accuracies a − b with its 95 % interval and a two-sided p (`_interval_of_gain`).

    a, b: [n] bool, was the answer right? Or [S, n] for S seeds over the same n texts.
    Returns difference, low, high (shares, not points) and p, the level at which the interval just touches 0.
    """
    return _interval_of_gain(np.atleast_2d(a).astype(np.int64) - np.atleast_2d(b))


def paired_f1_interval(a: NDArray[np.int64], b: NDArray[np.int64]) -> dict[str, float]:
    """Difference of micro-F1 a − b of two trained classifiers, with its 95 % interval and a two-sided p. Ours, by the delta method.

    a, b: [n, 2] int64. Of each text, column 0 (h) is 2 · hits, and column 1 (d) is 2 · hits + wrong + missed labels; d may not be 0 for all texts. Micro-F1
    is F = Σ h / Σ d. To first order text t adds f_t = F + (h_t − F d_t) / mean(d), and the mean of f is F. The gain of text t is the difference of
    the two f_t (`_interval_of_gain`). The result is that of `paired_interval`.
    """

    def by_text(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        hits, decisions = counts.T.astype(np.float64)
        f1 = hits.sum() / decisions.sum()
        return np.asarray(f1 + (hits - f1 * decisions) / decisions.mean())

    return _interval_of_gain(np.atleast_2d(by_text(a) - by_text(b)))


def _interval_of_gain(gain: NDArray[Any]) -> dict[str, float]:
    """The mean of what one classifier gains over another, with its 95 % interval and a two-sided p. Ours, from Banerjee (1960).

    gain: [S, n], of S seeds over the same n texts. With x[s, t] = gain, the difference is d = mean(x):

        A = var over seeds(mean over texts of x) / S,    B = var over texts(mean over seeds of x) / (n + 2),
        half-width² = t²(S − 1) · A + t²(n + 1) · B,

    where t(df) is the 97.5 % quantile of Student's t. A covers the luck of training. B covers the luck of the test texts: all seeds share them,
    so more seeds do not make it smaller. Each part has the quantile of its own degrees of freedom. For normal means Banerjee proves that such an
    interval misses the true difference in at most 5 % of all cases, whatever the ratio of the parts. `python -m benchmarks significance`
    shows the same by simulation.

    The n + 2 texts of B are the n of the test, one more that the first wins and one more that the second wins (as Bonett and Price, 2012, add
    them). Without these two classifiers that are right on the same texts would have an interval of no width.

    With one seed A is missing: the interval then speaks of these two trained classifiers only, and not of other trainings.
    """
    seeds, n = gain.shape
    difference = float(gain.mean())
    by_text = np.append(gain.mean(0), [1.0, -1.0])
    parts = [(float(by_text.var(ddof=1)) / (n + 2), n + 1)]
    if seeds > 1:
        parts.append((float(gain.mean(1).var(ddof=1)) / seeds, seeds - 1))

    def half_width(p: float) -> float:
        return math.sqrt(sum(variance * float(special.stdtrit(df, p / 2)) ** 2 for variance, df in parts))

    half = half_width(0.05)
    return {
        "difference": difference,
        "low": max(difference - half, -1.0),
        "high": min(difference + half, 1.0),
        "p": _p_value(half_width, abs(difference)),
    }


def _p_value(half_width: Callable[[float], float], difference: float) -> float:
    """The p at which an interval of this half-width ends at 0; half-widths fall with p, to 0 at p = 1."""
    if difference <= half_width(1.0):  # 0; scipy may give a median of t that is not quite 0
        return 1.0
    if half_width(SMALLEST_P) <= difference:
        return SMALLEST_P
    return math.exp(brentq(lambda log_p: half_width(math.exp(log_p)) - difference, math.log(SMALLEST_P), 0.0))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the same order, each p as if it were the only test. Monotone, at most 1."""
    order = np.argsort(p_values, kind="stable")
    m, running = len(p_values), 0.0
    corrected = [0.0] * m
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p_values[place]))
        corrected[place] = running
    return corrected


def against(
    right: Mapping[str, Right], ours: str, answered: Mapping[str, Right] | None = None
) -> dict[str, dict[str, Any]]:
    """`ours` against every other classifier on one test set, each trained once.

    right: classifier → [n] bool, was the answer right? answered: by classifier, the texts that it has an answer to, [n] bool, of those that lack
    some; the comparison is on these texts. By the others' names: `paired_interval`, McNemar's p (`mcnemar_p`), and both p after Holm's
    correction (`p_holm`, `mcnemar_p_holm`).
    """
    others, found = [name for name in right if name != ours], dict[str, dict[str, Any]]()
    for name in others:
        both = (answered or {}).get(name, np.ones(len(right[name]), dtype=np.bool_))
        found[name] = _compared(right[ours][both], right[name][both])
    _correct(found.values())
    return found


def best_against(right: Mapping[str, Right], best: str) -> dict[str, dict[str, Any]]:
    """`best`, the most accurate classifier, against every other one, as `against`. Holm's correction is over all pairs of classifiers, because
    the same texts show which one is the best: any pair may differ by chance."""
    names = [best, *(name for name in right if name != best)]
    found = {(a, b): _compared(right[a], right[b]) for a, b in combinations(names, 2)}
    _correct(found.values())
    return {b: compared for (a, b), compared in found.items() if a == best}


def _compared(a: Right, b: Right) -> dict[str, Any]:
    return paired_interval(a, b) | {"mcnemar_p": mcnemar(a, b)}


def _correct(comparisons: Collection[dict[str, Any]]) -> None:
    """Add to each comparison both p after Holm's correction over all of them."""
    for key in ("p", "mcnemar_p"):
        corrected = holm([compared[key] for compared in comparisons])
        for compared, p in zip(comparisons, corrected, strict=True):
            compared[f"{key}_holm"] = p


def interval(right: Right) -> tuple[float, float]:
    """Wilson's 95 % interval of an accuracy. right: [n] bool, n ≥ 1."""
    return wilson(int(right.sum()), len(right))


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share count / n, n ≥ 1."""
    low, high = stats.binomtest(count, n).proportion_ci(method="wilson")
    return float(low), float(high)
