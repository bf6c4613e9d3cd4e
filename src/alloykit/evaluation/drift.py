"""How new texts differ from the pool, by what the student answers: label shares, confidence and energy.

    PSI = Σ_b (q_b − p_b) log(q_b / p_b)                                  population stability index over bins b
    KS  = max_v |P(v) − Q(v)|                                             Kolmogorov and Smirnov, P and Q the cumulative shares

p are the shares of the pool and q those of the new texts, each count with ½ added, so that an empty bin has a share. For confidence and energy
the bins of the PSI are the pool's deciles. PSI below 0.1 is usually read as stable, above 0.25 as a clear change. With few texts it is large by
chance: without any change, PSI / (1 / n + 1 / m) has about the distribution χ² with one degree of freedom less than there are bins (Yurdakul,
2018), where n and m are the numbers of texts. `chance` is the value that it then exceeds once in sixty times. So at least one of the three
indices (labels, confidence, energy) is above its `chance` in at most about 5 % of cases. Where several questions are asked of the same texts,
`chance` is for all indices of all questions together.

Where a text may have several labels, each label has an index of its own over the two bins "given" and "not given". That of the labels is the largest
of them, and `chance` is for the largest of so many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from alloykit.evaluation.significance import ALPHA, holm, wilson

Counts = NDArray[np.int64]
STABLE, CHANGED = 0.1, 0.25  # of the index
FINE = 1000  # bins in which values are counted
DECILES = 10  # bins of the index
SHOWN = 20  # bins of the histograms in the report
INDICES = 3  # of labels, confidence and energy


@dataclass
class AnswerCounts:
    """What the student answered to many texts, as counts, so that memory does not grow with them.

    `labels`: [C], how many texts have each. `confidence`: [FINE] over [0, 1]. `energy`: [FINE] over [`low`, `high`], values outside in the first and last bin.
    `foreign`: how many texts have none of the labels, by the student's own score; None if it has no such score.
    """

    labels: Counts
    confidence: Counts
    energy: Counts
    low: float
    high: float
    foreign: int | None = None

    @classmethod
    def empty(cls, labels: int, low: float, high: float) -> AnswerCounts:
        """Counts of no texts. labels: how many there are. low, high: the range of the energies."""
        shares, confidence, energy = (np.zeros(n, dtype=np.int64) for n in (labels, FINE, FINE))
        return cls(shares, confidence, energy, low, high)

    @property
    def texts(self) -> int:
        """How many texts were added."""
        return int(self.confidence.sum())

    def add(self, labels: Counts, confidence: NDArray[Any], energy: NDArray[Any], foreign: int | None = None) -> None:
        """Add some texts: label positions [n] int64, or [n, C] bool where a text may have several; confidences in [0, 1] [n] and energies [n]. foreign: how many of them have no label."""
        self.labels += labels.sum(0) if labels.ndim > 1 else np.bincount(labels, minlength=len(self.labels))
        self.confidence += _binned(confidence, 0.0, 1.0)
        self.energy += _binned(energy, self.low, self.high)
        if foreign is not None:
            self.foreign = (self.foreign or 0) + foreign


def drift(
    pool: AnswerCounts, new: AnswerCounts, names: Sequence[str], *, multi_label: bool = False, questions: int = 1
) -> dict[str, Any]:
    """The comparison as JSON-like values. names: those of the labels. multi_label: a text may have several. questions: how many are asked of the same texts.

    `labels`, `confidence`, `energy`: each with its index (`psi`) and `chance`. `indices`: how many, of all questions, `chance` is for. `foreign`: None without that score. `psi`: see `largest_psi`.
    `changed`: the labels whose share differs significantly, the largest difference first.
    """
    labels = _label_shares(pool, new, names)
    indices = INDICES * questions
    likely = 1 - ALPHA / indices  # Bonferroni's correction
    by_label = _of_several if multi_label else _of_one
    index, chance = by_label(pool, new, likely)
    found: dict[str, Any] = {
        "texts": {"pool": pool.texts, "new": new.texts},
        "multi_label": multi_label,
        "indices": indices,
        "labels": {"psi": index, "chance": chance, "shares": labels},
        "confidence": _distribution(pool.confidence, new.confidence, 0.0, 1.0, likely),
        "energy": _distribution(pool.energy, new.energy, pool.low, pool.high, likely),
        "foreign": None,
    }
    if pool.foreign is not None and new.foreign is not None:
        found["foreign"] = _share(pool.foreign, pool.texts, new.foreign, new.texts)
    found["psi"] = largest_psi(found)
    changed = [name for name, row in labels.items() if row["p_holm"] < ALPHA]
    found["changed"] = sorted(changed, key=lambda name: -abs(labels[name]["difference"]))
    return found


def largest_psi(found: Mapping[str, Any]) -> float:
    """The largest of the three indices that are above their `chance`; 0 if none is."""
    indices = (found[key] for key in ("labels", "confidence", "energy"))
    return max((index["psi"] for index in indices if index["psi"] > index["chance"]), default=0.0)


def psi(pool: Counts, new: Counts) -> float:
    """The population stability index of two counts over the same bins."""
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (pool, new))
    return float(((q - p) * np.log(q / p)).sum())


def _chance(pool: Counts, new: Counts, likely: float) -> float:
    """The quantile `likely` of the index of two counts with the same shares."""
    return float((1 / pool.sum() + 1 / new.sum()) * stats.chi2.ppf(likely, max(len(pool) - 1, 1)))


def kolmogorov_smirnov(pool: Counts, new: Counts) -> tuple[float, float]:
    """The largest difference of the cumulative shares, and its asymptotic two-sided p. pool, new: counts over the same fine bins."""
    n, m = int(pool.sum()), int(new.sum())
    distance = float(np.abs(pool.cumsum() / n - new.cumsum() / m).max())
    return distance, float(special.kolmogorov(math.sqrt(n * m / (n + m)) * distance))


def _of_one(pool: AnswerCounts, new: AnswerCounts, likely: float) -> tuple[float, float]:
    """The index over all labels, and its `chance`."""
    return psi(pool.labels, new.labels), _chance(pool.labels, new.labels, likely)


def _of_several(pool: AnswerCounts, new: AnswerCounts, likely: float) -> tuple[float, float]:
    """The largest index of one label, given or not given, and its `chance`."""
    n, m = pool.texts, new.texts
    pairs = zip(pool.labels, new.labels, strict=True)
    found = max(psi(np.array([a, n - a]), np.array([b, m - b])) for a, b in pairs)
    return found, float((1 / n + 1 / m) * stats.chi2.ppf(1 - (1 - likely) / len(pool.labels), 1))


def _label_shares(pool: AnswerCounts, new: AnswerCounts, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    n, m = pool.texts, new.texts
    rows = {name: _share(int(a), n, int(b), m) for name, a, b in zip(names, pool.labels, new.labels, strict=True)}
    for name, p in zip(rows, holm([row["p"] for row in rows.values()]), strict=True):
        rows[name]["p_holm"] = p
    return rows


def _share(a: int, n: int, b: int, m: int) -> dict[str, Any]:
    """Two shares a / n and b / m with their 95 % intervals (Wilson), and Fisher's exact p of their difference."""
    p = float(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue)
    return {
        "pool": a / n,
        "pool_interval": wilson(a, n),
        "new": b / m,
        "new_interval": wilson(b, m),
        "difference": b / m - a / n,
        "p": p,
    }


def _distribution(pool: Counts, new: Counts, low: float, high: float, likely: float) -> dict[str, Any]:
    distance, p = kolmogorov_smirnov(pool, new)
    edges = np.searchsorted(pool.cumsum(), pool.sum() * np.arange(1, DECILES) / DECILES) + 1
    edges = np.unique(np.concatenate([[0], edges, [len(pool)]]))
    coarse = [np.add.reduceat(counts, edges[:-1]) for counts in (pool, new)]
    step = len(pool) // SHOWN
    middles = low + (np.arange(len(pool)) + 0.5) * (high - low) / len(pool)
    return {
        "psi": psi(*coarse),
        "chance": _chance(coarse[0], coarse[1], likely),
        "ks": distance,
        "ks_p": p,
        "mean": {"pool": float(middles @ pool / pool.sum()), "new": float(middles @ new / new.sum())},
        "histogram": {
            "low": low,
            "high": high,
            "pool": pool.reshape(SHOWN, step).sum(1).tolist(),
            "new": new.reshape(SHOWN, step).sum(1).tolist(),
        },
    }


def _binned(values: NDArray[Any], low: float, high: float) -> Counts:
    width = (high - low) / FINE or 1.0
    at = np.clip(((np.asarray(values, dtype=np.float64) - low) / width).astype(np.int64), 0, FINE - 1)
    return np.bincount(at, minlength=FINE)


def from_json(values: Mapping[str, Any], labels: int) -> AnswerCounts:
    """The counts that `as_json` wrote. labels: how many there are. ValueError for counts that no texts can have."""
    counts = {key: np.asarray(values[key], dtype=np.int64) for key in ("labels", "confidence", "energy")}
    if [len(each) for each in counts.values()] != [labels, FINE, FINE]:
        raise ValueError(f"not the counts of {labels} labels, and of {FINE} values of confidence and energy")
    found = AnswerCounts(**counts, low=values["low"], high=values["high"], foreign=values["foreign"])
    if not (found.texts == found.energy.sum() > 0 and found.labels.max() <= found.texts >= (found.foreign or 0)):
        raise ValueError("counts of different texts, or of none")
    if found.low > found.high:
        raise ValueError("low is above high")
    return found


def as_json(counts: AnswerCounts) -> dict[str, Any]:
    """The counts as JSON-like values."""
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(counts).items()}
