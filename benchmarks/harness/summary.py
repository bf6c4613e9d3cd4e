"""Finished cells as numbers for a page: mean ± spread over seeds, and paired comparisons over seeds and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from alloykit.evaluation.significance import holm, paired_interval
from benchmarks.harness.results import numbers

DIFFERENCE = re.compile(
    r"\|\s*(\*\*)?[+−][\d.]+ \([+−][\d.]+ to [+−][\d.]+\)"
)  # in a table, as `points` writes it; group 1: bold


Right = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """The cells of one setting and pool. Missing and failed cells are left out."""

    cells: dict[str, dict[str, Any]]
    setting: str
    pool: str

    def seeds(self, method: str) -> list[int]:
        """The seeds for which a method has a result."""
        mark = (self.setting, self.pool)
        split = [key.split("/") for key, cell in self.cells.items() if cell["status"] == "done"]
        return sorted(int(seed) for setting, pool, seed, name in split if (setting, pool) == mark and name == method)

    def cell(self, seed: int, method: str) -> dict[str, Any]:
        return self.cells[f"{self.setting}/{self.pool}/{seed}/{method}"]

    def values(self, method: str, *path: str) -> list[float]:
        """A number of every seed's cell, found along `path`."""
        found: list[float] = []
        for seed in self.seeds(method):
            value: Any = self.cell(seed, method)
            for key in path:
                value = value[key]
            found.append(value)
        return found

    def right(self, method: str, seeds: Sequence[int]) -> np.ndarray[Any, Any]:
        """[S, n] bool: is the answer correct?"""
        rows = []
        for seed in seeds:
            truth = np.array(numbers(self.cell(seed, "teachers")["labels"]))
            cell = self.cell(seed, "teachers")["ensemble"] if method == "ensemble" else self.cell(seed, method)
            rows.append(np.array(numbers(cell["answers"])) == truth)
        return np.stack(rows)

    def balanced(self, method: str) -> list[float]:
        """Balanced accuracy (mean recall over the labels) of every seed. Needs the teachers' cells."""
        found = []
        for seed in (s for s in self.seeds(method) if s in self.seeds("teachers")):
            truth, right = np.array(numbers(self.cell(seed, "teachers")["labels"])), self.right(method, [seed])[0]
            found.append(balanced(right, truth))
        return found

    def compare(self, ours: str, others: Sequence[str]) -> dict[str, dict[str, float]]:
        """`ours` minus each other method, over the texts and seeds that both have; Holm's correction over the others. Needs the teachers' cells."""
        found: dict[str, dict[str, float]] = {}
        for other in others:
            have = "teachers" if other == "ensemble" else other
            seeds = [s for s in self.seeds(ours) if s in self.seeds(have) and s in self.seeds("teachers")]
            if not seeds:
                continue
            found[other] = paired_interval(self.right(ours, seeds), self.right(other, seeds)) | {"seeds": len(seeds)}
        for name, p in zip(found, holm([f["p"] for f in found.values()]), strict=True):
            found[name]["p_holm"] = p
        return found


def balanced(right: Right, labels: np.ndarray[Any, Any]) -> float:
    """The mean over the labels of the share of right answers. [n] both"""
    texts = np.bincount(labels)
    return float(np.mean(np.bincount(labels, weights=right)[texts > 0] / texts[texts > 0]))


def difference(a: Sequence[Right], b: Sequence[Right], same_texts: bool) -> dict[str, float]:
    """a minus b, [n] bool of every seed: difference, low, high (95 %) and p. `same_texts`: all seeds were tested on the same ones. If not, every
    seed has its own chance in the texts, so the spread over the seeds includes it: Student's t over the seeds."""
    if same_texts or len(a) == 1:
        return paired_interval(np.stack(a), np.stack(b))
    each = np.array([np.mean(x) - np.mean(y) for x, y in zip(a, b, strict=True)])
    mean, error = float(each.mean()), float(each.std(ddof=1)) / len(each) ** 0.5
    half = float(stats.t.ppf(0.975, len(each) - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, len(each) - 1)) if error else float(mean == 0)
    return {"difference": mean, "low": max(mean - half, -1.0), "high": min(mean + half, 1.0), "p": p}


def corrected(found: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """The same differences with Holm's correction over them, as `points` needs it."""
    return [f | {"p_holm": p} for f, p in zip(found, holm([f["p"] for f in found]), strict=True)]


def spread(values: Sequence[float], digits: int = 1, usual: int = 3) -> str:
    """mean ± standard deviation in percent; the number of seeds where it is not the page's usual one."""
    if not values:
        return "not run"
    mean = 100 * float(np.mean(values))
    sd = f" ± {100 * float(np.std(values, ddof=1)):.{digits}f}" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{sd}" + (
        "" if len(values) == usual else f" ({len(values)} seed{'s' if len(values) > 1 else ''})"
    )


def points(found: dict[str, float] | None) -> str:
    """A difference with its interval, in points; bold where Holm's p is below 0.05."""
    if found is None:
        return "–"
    text = f"{100 * found['difference']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})".replace(
        "-", "−"
    )
    return f"**{text}**" if found["p_holm"] < 0.05 else text


def rows(headings: Sequence[Any], body: Sequence[Sequence[Any]]) -> list[str]:
    """A Markdown table."""
    return [
        "| " + " | ".join(map(str, headings)) + " |",
        "|" + "---|" * len(headings),
        *("| " + " | ".join(map(str, row)) + " |" for row in body),
        "",
    ]
