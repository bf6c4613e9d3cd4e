"""benchmarks/results/significance.md: the interval of a difference, its error rate and its power."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, note, ran
from benchmarks.harness.summary import rows
from benchmarks.significance.candidates import CHOSEN, PERCENTILE
from benchmarks.significance.coverage import (
    ACCURACY,
    BOOTSTRAP_TEXTS,
    DIFFER,
    KINDS,
    LOSS,
    ONE_SEED_TEXTS,
    ONE_SEED_WAYS,
    RARE,
    RARE_TEXTS,
    SEEDS,
    SPREADS,
    TEXTS,
    TRUE,
)

NOTES = Path(__file__).with_name("notes")
TOLERATED = 0.05


def write() -> None:
    lines = ["# When is a difference significant?", "", *note(NOTES, "summary")]
    found = measured("significance", "coverage")
    lines += ["## The simulation", "", "Not run yet.", ""] if found is None else _body(found)
    write_atomic(RESULTS / "significance.md", "\n".join(lines).rstrip() + "\n")


def _body(found: Mapping[str, Any]) -> list[str]:
    f = found["figures"]
    return [
        "## The simulation",
        "",
        f"Two classifiers answer the same test texts ({', '.join(f'{n:,}' for n in TEXTS)}), {', '.join(map(str, SEEDS))} seeds each, with an accuracy of about "
        f"{100 * ACCURACY:.0f} %. Their answers agree as often as those of our students, or less often ({', '.join(KINDS)}; `benchmarks/significance/coverage.py`). "
        f"The difference of their accuracies spreads over seeds with a standard deviation of {SPREADS[0]} to {SPREADS[-1]} points. "
        f"{f['experiments']['error']:,} simulated experiments for each combination, {f['experiments']['power']:,} where there is a difference, "
        f"{f['experiments']['bootstraps']:,} for the bootstraps (of {', '.join(map(str, BOOTSTRAP_TEXTS))} texts only). A rate of 5 % is thereby known "
        f"to ±{_error(f['experiments']['error']):.1f} points (95 %), for the bootstraps to ±{_error(f['experiments']['bootstraps']):.1f}.",
        "",
        "**Error rate**: how often a 95 % interval excludes 0 although both are equally good, in %: the mean over all spreads, numbers of texts and kinds of answers, and in brackets the "
        "largest rate of any combination. It should be 5 at most.",
        "",
        *rows(
            ["", *(f"{s} seeds" for s in SEEDS)],
            [[_named(name), *(_wrong(by[str(s)]) for s in SEEDS)] for name, by in f["error"].items()],
        ),
        "The same by spread, largest rate over numbers of texts and kinds of answers:",
        "",
        *rows(
            ["", "seeds", *(f"spread {spread}" for spread in SPREADS)],
            [
                [_named(name), s, *(f"{100 * f['error'][name][str(s)][str(spread)]['largest']:.1f}" for spread in SPREADS)]
                for name in (PERCENTILE, CHOSEN)
                for s in SEEDS
            ],
        ),
        "**Power**: how often the interval excludes 0 when one classifier is better, in %, mean over numbers of texts and kinds of answers. Only intervals with an error rate of at most "
        f"{_limit(f):.1f} % in every combination (5 % plus three standard errors of the simulation).",
        "",
        *(line for true in TRUE if true for line in _power(f, true)),
        "## Trainings that fail sometimes",
        "",
        f"No interval includes failures that its seeds do not show. Here one training in {1 / RARE:.0f} of one classifier loses {100 * LOSS:.0f} points; otherwise seeds are equal. On average both "
        f"are equally good. On {RARE_TEXTS} texts the chosen interval is wrong in "
        + ", ".join(f"{100 * f['rare_failures'][str(s)]:.0f} % with {s} seeds" for s in SEEDS)
        + ".",
        "",
        "## One seed",
        "",
        "One training of each classifier: the interval comes from the texts alone and is about these two trainings. How often it excludes 0 although both have the same accuracy, in % "
        "(computed exactly, not simulated):",
        "",
        *rows(
            ["texts", "differ on", *ONE_SEED_WAYS],
            [
                [n, f"{100 * share:.0f} %", *(f"{100 * f['one_seed'][str(n)][str(share)][way]:.1f}" for way in ONE_SEED_WAYS)]
                for n in ONE_SEED_TEXTS
                for share in DIFFER
            ],
        ),
        *ran(found),
    ]  # fmt: skip


def _error(experiments: int) -> float:
    return 100 * 1.96 * float((TOLERATED * (1 - TOLERATED) / experiments) ** 0.5)


def _named(name: str) -> str:
    return f"**{name}**" if name == CHOSEN else name


def _wrong(by_spread: Mapping[str, Mapping[str, float]]) -> str:
    mean = sum(rate["mean"] for rate in by_spread.values()) / len(by_spread)
    return f"{100 * mean:.1f} (≤ {100 * max(rate['largest'] for rate in by_spread.values()):.1f})"


def _limit(f: Mapping[str, Any]) -> float:
    """5 %, and three standard errors for the largest of many rates, in %."""
    return 100 * TOLERATED + 3 / 1.96 * _error(f["experiments"]["error"])


def _power(f: Mapping[str, Any], true: int) -> list[str]:
    held = [
        name
        for name in f["power"]
        if all(100 * r["largest"] <= _limit(f) for by in f["error"][name].values() for r in by.values())
    ]
    body = [
        [_named(name), s, *(f"{100 * f['power'][name][str(true)][str(s)][str(spread)]['mean']:.0f}" for spread in SPREADS)]
        for s in SEEDS
        for name in held
    ]  # fmt: skip
    return [f"True difference {true} points:", "", *rows(["", "seeds", *(f"spread {x}" for x in SPREADS)], body)]
