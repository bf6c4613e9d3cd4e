"""Error rate and power of intervals for a difference. A simulation of seeds and shared test texts.

Classifier m of seed s is right on text t if level_ms + a·text_t + b·bias_mt + c·training_st + d·noise_mst > 0. All terms but the level are independent
and standard normal. text: how easy a text is for everybody. bias: how much easier it is for method m, whatever the seed. training: what both methods
share in a seed, its teachers. KINDS has the squares of a, b, c, d, which sum to one. The first kind gives answers of two students the correlations
that they have in the committed results (medians over 386 pairs of methods). In the second the bias is three times as large, which is hard for an interval that
looks at seeds only.

level_ms is normal over seeds, so that the difference of the two accuracies has the standard deviation SPREADS over seeds. In the committed results that is
2.4 points in the median and more than 7.3 in one pair of ten. Mean accuracies are 60 % ± half of the true difference.

An interval is wrong if it excludes 0 where the true difference is 0.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm, t

from alloykit.progress import log_line
from benchmarks.significance.candidates import CANDIDATES, CHOSEN, Moments, bootstraps_exclude
from benchmarks.speed.measure import Measurement

SEEDS, TEXTS = (2, 3, 5, 9), (200, 500, 2000)
SPREADS = (0, 1, 2, 4, 6, 8, 10)  # points
TRUE = (0, 2, 4, 8)  # points
KINDS = {"median": (0.74, 0.10, 0.09, 0.07), "biased": (0.56, 0.30, 0.07, 0.07)}  # text, bias, training, noise
EXPERIMENTS, FOR_POWER, FOR_BOOTSTRAPS, AT_ONCE = 10_000, 2_000, 250, 250
BOOTSTRAP_TEXTS = (200, 500)
ACCURACY = 0.6
RARE, LOSS, RARE_TEXTS = 0.1, 0.2, 500  # where training fails now and then: one in ten, by 20 points
DIFFER = (0.01, 0.02, 0.05, 0.2)  # shares of texts on which two trained classifiers differ
ONE_SEED_TEXTS = (50, 200, 1000)
ONE_SEED_WAYS = ("with two extra texts (chosen)", "without them", "McNemar, exact")
Gains = NDArray[np.int8]


def run(data: Path, work: Path) -> dict[str, Any]:
    rates: dict[tuple[int, int, str, int, int], dict[str, float]] = {}
    for kind, s, n in itertools.product(KINDS, SEEDS, TEXTS):
        log_line(f"{kind}: {s} seeds, {n} texts")
        rates |= {(s, n, kind, spread, true): found for spread, true, found in _rates(kind, s, n)}
    names = list(next(rates[key] for key in rates if key[1] in BOOTSTRAP_TEXTS and key[-1] == 0))
    return {
        "experiments": {"error": EXPERIMENTS, "power": FOR_POWER, "bootstraps": FOR_BOOTSTRAPS},
        "error": {name: _by_seeds(rates, name, 0) for name in names},
        "power": {name: {str(true): _by_seeds(rates, name, true) for true in TRUE if true} for name in CANDIDATES},
        "rare_failures": {str(s): _rare(s) for s in SEEDS},
        "one_seed": one_seed(),
    }


def _rates(kind: str, s: int, n: int) -> Iterator[tuple[int, int, dict[str, float]]]:
    """(spread, true difference, share of experiments whose interval excludes 0, by candidate)."""
    rng = np.random.default_rng([list(KINDS).index(kind), s, n])
    outside: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for first in range(0, EXPERIMENTS, AT_ONCE):
        a, b = latent(rng, AT_ONCE, s, n, KINDS[kind])
        for spread, true in itertools.product(SPREADS, TRUE if first < FOR_POWER else (0,)):
            gain = gains(rng, a, b, spread / 100, true / 100)
            m = Moments.of(gain)
            for name, half_width in CANDIDATES.items():
                outside[spread, true][name] += (np.abs(m.difference) > half_width(m)).tolist()
            if true == 0 and first < FOR_BOOTSTRAPS and n in BOOTSTRAP_TEXTS:
                for one in gain:
                    for name, excludes in bootstraps_exclude(one, rng).items():
                        outside[spread, true][name].append(excludes)
    for (spread, true), found in outside.items():
        yield spread, true, {name: float(np.mean(each)) for name, each in found.items()}


def latent(
    rng: np.random.Generator, count: int, s: int, n: int, shares: tuple[float, ...]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The latent values that decide whether a and b are correct, before their levels: [count, S, n] each, standard normal."""
    text, bias, training, noise = (np.float32(np.sqrt(share)) for share in shares)

    def normal(seeds: int) -> NDArray[np.float32]:
        return rng.standard_normal((count, seeds, n), dtype=np.float32)

    shared = text * normal(1) + training * normal(s)
    return shared + bias * normal(1) + noise * normal(s), shared + bias * normal(1) + noise * normal(s)


def gains(
    rng: np.random.Generator, a: NDArray[np.float32], b: NDArray[np.float32], spread: float, true: float
) -> Gains:
    """x[s, t] of experiments, [count, S, n]. spread: standard deviation over seeds of the difference of accuracies; true: its mean. Shares."""
    shape = (*a.shape[:2], 1)
    sd = spread / np.sqrt(2) / norm.pdf(norm.ppf(ACCURACY))

    def right(values: NDArray[np.float32], accuracy: float) -> Gains:
        # E Φ(c + sd · z) = Φ(c / √(1 + sd²)): the mean over seeds is `accuracy`, exactly
        level = np.sqrt(1 + sd**2) * norm.ppf(accuracy) + sd * rng.standard_normal(shape)
        return (values + level.astype(np.float32) > 0).astype(np.int8)

    return right(a, ACCURACY + true / 2) - right(b, ACCURACY - true / 2)


def _by_seeds(
    rates: dict[tuple[int, int, str, int, int], dict[str, float]], name: str, true: int
) -> dict[str, dict[str, dict[str, float]]]:
    """By seeds and spread: mean and largest rate over numbers of texts and kinds."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for s in SEEDS:
        each = {
            spread: [rates[s, n, kind, spread, true].get(name) for n in TEXTS for kind in KINDS] for spread in SPREADS
        }
        have = {spread: [v for v in values if v is not None] for spread, values in each.items()}
        found[str(s)] = {
            str(spread): {"mean": round(float(np.mean(v)), 4), "largest": round(max(v), 4)}
            for spread, v in have.items()
        }
    return found


def _rare(s: int) -> float:
    """How often the chosen interval excludes 0 where seeds do not spread but one training of a in ten fails, and a and b are equally good on average."""
    rng, n = np.random.default_rng(s), RARE_TEXTS
    a, b = latent(rng, FOR_POWER, s, n, KINDS["median"])
    level = np.where(rng.random((FOR_POWER, s, 1)) < RARE, ACCURACY - LOSS * (1 - RARE), ACCURACY + LOSS * RARE)
    gain = (a + norm.ppf(level).astype(np.float32) > 0).astype(np.int8) - (b + np.float32(norm.ppf(ACCURACY)) > 0)
    m = Moments.of(gain.astype(np.int8))
    return float(np.mean(np.abs(m.difference) > CANDIDATES[CHOSEN](m)))


def one_seed() -> dict[str, dict[str, dict[str, float]]]:
    """Of one training each, summed over all outcomes: how often an interval from the texts excludes 0 where both classifiers have the same accuracy.
    By number of texts, and by the share of them on which the classifiers differ."""
    return {str(n): {str(share): _one_seed(n, share) for share in DIFFER} for n in ONE_SEED_TEXTS}


def _one_seed(n: int, share: float) -> dict[str, float]:
    wrong = dict.fromkeys(ONE_SEED_WAYS, 0.0)
    least, most = binom.ppf([1e-7, 1 - 1e-7], n, share).astype(int)
    for differ in range(least, most + 1):
        only_a = np.arange(differ + 1)
        gained = np.abs(2 * only_a - differ)
        chance = binom.pmf(differ, n, share) * binom.pmf(only_a, differ, 0.5)
        excludes = [
            *(
                gained / n > t.ppf(0.975, m - 1) * np.sqrt((differ + m - n - gained**2 / m) / (m - 1) / m)
                for m in (n + 2, n)
            ),
            np.minimum(1, 2 * binom.cdf((differ - gained) // 2, differ, 0.5)) < 0.05,
        ]
        for way, out in zip(ONE_SEED_WAYS, excludes, strict=True):
            wrong[way] += float(chance[out].sum())
    return {way: round(rate, 4) for way, rate in wrong.items()}


TABLE = Measurement("coverage", "how often an interval is wrong, and what it finds", run, paper="significance")
