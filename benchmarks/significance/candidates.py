"""Intervals for the difference of two classifiers over S seeds and n shared texts, for many simulated experiments at once.

Each gives the half-width of a 95 % interval around the mean difference, [R] for R experiments. x[s, t] is the gain of seed s on text t: 1 if only a is
right, −1 if only b is, else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
DRAWS = 999


@dataclass(frozen=True)
class Moments:
    """What an interval needs of x, [R] each. `seeds`: variance of the seeds' means / S. `texts`: variance of the texts' means / n, with the two extra
    texts of `paired_interval`. `rest`: variance of what neither seed nor text explains / (S · n)."""

    difference: Floats
    seeds: Floats
    texts: Floats
    rest: Floats
    n_seeds: int
    n_texts: int

    @classmethod
    def of(cls, gain: NDArray[np.int8]) -> Moments:
        """gain: [R, S, n]."""
        _, s, n = gain.shape
        by_seed = gain.sum(2, dtype=np.int64) / n
        by_text = gain.sum(1, dtype=np.int16).astype(np.float32) / s
        squares = np.einsum("rt,rt->r", by_text, by_text).astype(np.float64)
        d = by_seed.mean(1)
        texts = ((squares + 2) - (n * d) ** 2 / (n + 2)) / (n + 1) / (n + 2)
        rest = (gain != 0).sum((1, 2)) - n * (by_seed**2).sum(1) - s * squares + s * n * d**2
        return cls(d, by_seed.var(1, ddof=1) / s, texts, rest / ((s - 1) * (n - 1)) / (s * n), s, n)

    @property
    def t_seeds(self) -> float:
        return float(stats.t.ppf(0.975, self.n_seeds - 1))

    @property
    def t_texts(self) -> float:
        return float(stats.t.ppf(0.975, self.n_texts + 1))


def t_over_seeds(m: Moments) -> Floats:
    return m.t_seeds * np.sqrt(m.seeds)


def t_with_floor(m: Moments) -> Floats:
    """t over seeds whose variance is at least that of the texts."""
    return m.t_seeds * np.sqrt(np.maximum(m.seeds, m.texts))


def wider_of_both(m: Moments) -> Floats:
    """The wider one of t over seeds and t over texts."""
    return np.maximum(m.t_seeds * np.sqrt(m.seeds), m.t_texts * np.sqrt(m.texts))


def two_way_t(m: Moments) -> Floats:
    """The variance of a mean over crossed random seeds and texts (seeds + texts − rest), with t of S − 1 degrees of freedom."""
    return m.t_seeds * np.sqrt(_two_way(m))


def two_way_satterthwaite(m: Moments) -> Floats:
    """The same variance, with Satterthwaite's degrees of freedom (at least S − 1)."""
    total = _two_way(m)
    spread = m.seeds**2 / (m.n_seeds - 1) + m.texts**2 / (m.n_texts + 1)
    spread += m.rest**2 / ((m.n_seeds - 1) * (m.n_texts - 1))
    df = np.maximum(total**2 / spread, m.n_seeds - 1)
    return np.asarray(stats.t.ppf(0.975, df) * np.sqrt(total))


def banerjee(m: Moments) -> Floats:
    """`paired_interval`: each variance has the quantile of its own degrees of freedom."""
    return np.sqrt(m.t_seeds**2 * m.seeds + m.t_texts**2 * m.texts)


def banerjee_less_rest(m: Moments) -> Floats:
    """The same without counting `rest` twice."""
    return np.sqrt(m.t_seeds**2 * m.seeds + m.t_texts**2 * np.maximum(m.texts - m.rest, 0))


def _two_way(m: Moments) -> Floats:
    return np.maximum(m.seeds + m.texts - m.rest, np.maximum(m.seeds, m.texts))


CANDIDATES: dict[str, Callable[[Moments], Floats]] = {
    "t over seeds": t_over_seeds,
    "t over seeds, at least the texts' variance": t_with_floor,
    "wider of t over seeds and t over texts": wider_of_both,
    "two-way variance, t(S − 1)": two_way_t,
    "two-way variance, Satterthwaite": two_way_satterthwaite,
    "Banerjee, seeds and texts (chosen)": banerjee,
    "Banerjee, residual counted once": banerjee_less_rest,
}
CHOSEN = "Banerjee, seeds and texts (chosen)"
PERCENTILE, STUDENTISED = "bootstrap of seeds × texts, percentiles", "bootstrap of seeds × texts, studentised"


def bootstraps_exclude(gain: NDArray[np.int8], rng: np.random.Generator) -> dict[str, bool]:
    """Does each bootstrap's interval exclude 0? gain: [S, n] of one experiment; seeds and texts are both drawn with replacement."""
    s, n = gain.shape
    kinds, counts = np.unique(
        gain, axis=1, return_counts=True
    )  # texts on which all seeds gain alike are the same to a draw
    texts = rng.multinomial(n, counts / n, size=DRAWS) / n  # [D, kinds]
    seeds = rng.multinomial(s, np.full(s, 1 / s), size=DRAWS) / s  # [D, S]
    d, error = _drawn(kinds, texts, seeds, n)
    low, high = np.quantile(d, [0.025, 0.975])
    centre, own = (float(found[0]) for found in _drawn(kinds, counts[None] / n, np.full((1, s), 1 / s), n))
    t = (d - centre)[error > 0] / error[error > 0]
    t_low, t_high = np.quantile(t, [0.025, 0.975]) if len(t) else (0.0, 0.0)
    outside = centre - t_high * own > 0 or centre - t_low * own < 0
    return {PERCENTILE: bool(low > 0 or high < 0), STUDENTISED: bool(outside)}


def _drawn(kinds: NDArray[np.int8], texts: Floats, seeds: Floats, n: int) -> tuple[Floats, Floats]:
    """Mean and standard error of drawn experiments, [D]. kinds: [S, kinds]; texts, seeds: the share of each kind and seed in a draw."""
    s = kinds.shape[0]
    by_seed = texts @ kinds.T  # [D, S]
    d = (seeds * by_seed).sum(1)
    between = (seeds * (by_seed - d[:, None]) ** 2).sum(1) / (s - 1)
    by_text = seeds @ kinds  # [D, kinds]
    within = (texts * (by_text - d[:, None]) ** 2).sum(1)
    return d, np.sqrt(between + within / n)
