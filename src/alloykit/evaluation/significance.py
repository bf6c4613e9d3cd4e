"""Is one classifier better than another, or was it luck? Everything here is paired: both answered the same texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Right = NDArray[np.bool_]
SAMPLES = 10_000


def mcnemar(a: Right, b: Right) -> float:
    """Exact two-sided McNemar test on one test set. a, b: [n], was the answer right? Returns p; 1 if they never differ."""
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def paired_bootstrap(a: Right, b: Right, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, float]:
    """Difference of accuracies a − b with its 95 % percentile interval and a two-sided p.

    a, b: [n], or [S, n] for S seeds over the same texts: then seeds and texts are both drawn with replacement, so that the
    interval covers the luck of training as well as that of the test set. p = 2 · min(share ≤ 0, share ≥ 0), at least
    2 / (samples + 1).
    """
    gain = np.atleast_2d(a).astype(np.int64) - np.atleast_2d(b)
    n_seeds, n = gain.shape
    rng = np.random.default_rng(seed)
    # Texts on which all seeds gained alike are interchangeable: draw how often each kind comes, and not every text.
    kinds, first, counts = np.unique(gain, axis=1, return_index=True, return_counts=True)
    order = np.argsort(first)  # as they come, so that b − a draws the same texts
    kinds, counts = kinds[:, order], counts[order]
    texts = rng.multinomial(n, counts / n, size=samples)  # [samples, kinds]
    seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=samples)  # [samples, S]
    drawn = (seeds * (texts @ kinds.T)).sum(1) / (n_seeds * n)
    low, high = np.quantile(drawn, [0.025, 0.975])
    below, above = int((drawn <= 0).sum()), int((drawn >= 0).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (samples + 1))
    return {"difference": float(gain.mean()), "low": float(low), "high": float(high), "p": float(p)}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the same order, each p as if it were the only test. Monotone, at most 1."""
    order = np.argsort(p_values, kind="stable")
    m, running = len(p_values), 0.0
    corrected = [0.0] * m
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p_values[place]))
        corrected[place] = running
    return corrected


def against(right: Mapping[str, Right], ours: str) -> dict[str, dict[str, Any]]:
    """`ours` against every other one on one test set: difference with its interval, McNemar's p, and both after Holm."""
    others = [name for name in right if name != ours]
    found = {
        name: paired_bootstrap(right[ours], right[name]) | {"mcnemar_p": mcnemar(right[ours], right[name])}
        for name in others
    }
    for key in ("p", "mcnemar_p"):
        for name, p in zip(others, holm([found[name][key] for name in others]), strict=True):
            found[name][f"{key}_holm"] = p
    return found


def interval(right: Right) -> tuple[float, float]:
    """Wilson's 95 % interval of an accuracy. right: [n]."""
    low, high = stats.binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    return float(low), float(high)


def t_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided paired t-test over seeds. NaN with fewer than two seeds, or where all differences are the same: a few seeds
    that agree by chance are no proof, and a spread of zero would make them one."""
    gain = np.asarray(a) - np.asarray(b)
    if len(gain) < 2 or np.ptp(gain) < 1e-9:
        return float("nan")
    return float(stats.ttest_rel(a, b).pvalue)
