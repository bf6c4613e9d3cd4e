"""The page that compares several runs: scores, paired tests (if the test texts are the same), and differences of the recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alloykit.evaluation.significance import best_against
from alloykit.names import counted
from alloykit.reporting import figures
from alloykit.reporting.figures import Figure, percent
from alloykit.reporting.page import render_outline
from alloykit.reporting.verdict import ALPHA, verdict

OUTLINE = {
    "compare/summary": "Summary",
    "compare/accuracy": "Accuracy",
    "compare/runs": "Summary of each run",
    "compare/recipes": "Differences of the recipes",
}
NOT_COMPARED = {"output"}  # differs between any two runs


def render_comparison(runs: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any] | None]) -> str:
    """The page as HTML.

    runs: as `page.load` gives them, with different names. answers: per run `ids` (bytes), `labels` ([n] names) and `right` ([n] bool) of
    the judged classifier; None for a run that was not tested.
    """
    names = [run["name"] for run in runs]
    tested = {
        n: run["metrics"]["evaluation"] for n, run in zip(names, runs, strict=True) if run["metrics"].get("evaluation")
    }
    judged = {name: dict(e["scores"][e["judged"]]) for name, e in tested.items()}
    order = sorted(tested, key=lambda name: judged[name]["accuracy"], reverse=True)
    best = order[0] if order else None
    same = _same_texts(answers)
    right = {n: a["right"] for n, a in zip(names, answers, strict=True) if a is not None}
    tests = best_against(right, best) if same and best is not None and best in right else {}
    texts = tested[best]["texts"] if best is not None else 0
    status, headline = _headline(
        order, {n: s["accuracy"] for n, s in judged.items()}, tests, same or len(right) < 2, texts
    )
    values = {
        "status": status,
        "headline": headline,
        "runs": runs,
        "verdicts": {n: verdict(run["metrics"]) for n, run in zip(names, runs, strict=True)},
        "tested": tested,
        "judged": judged,
        "best": best,
        "tests": tests,
        "figures": _figures(judged, order),
        "differences": recipe_differences([run["recipe"] for run in runs]),
    }
    return render_outline(f"{counted(len(runs), 'run')} compared", OUTLINE, values)


def recipe_differences(recipes: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """The keys whose values differ, each with its value per run; "–" where a recipe does not have the key."""
    flat = [_flat(recipe) for recipe in recipes]
    keys = list(dict.fromkeys(key for f in flat for key in f))
    rows = []
    for key in keys:
        values = [f.get(key, "–") for f in flat]
        if len(set(values)) > 1 and key not in NOT_COMPARED:
            rows.append((key, values))
    return rows


def _flat(value: Any, where: str = "") -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{where}.{key}".lstrip(".")).items()}
    if isinstance(value, list) and value and isinstance(value[0], (Mapping, list)):
        return {k: v for n, inner in enumerate(value, 1) for k, v in _flat(inner, f"{where}.{n}").items()}
    return {where: ", ".join(map(str, value)) if isinstance(value, list) else str(value)}


def _same_texts(answers: Sequence[Mapping[str, Any] | None]) -> bool:
    given = [a for a in answers if a is not None]
    return len(given) > 1 and all(
        a["ids"] == given[0]["ids"] and bool(np.array_equal(a["labels"], given[0]["labels"])) for a in given
    )


def _headline(
    order: Sequence[str], accuracies: Mapping[str, float], tests: Mapping[str, Any], same: bool, texts: int
) -> tuple[str, str]:
    """Status and headline. order: the tested runs, the best first. tests: against the best, of the runs whose answers are there."""
    if not order:
        return "unknown", "No run was tested on labelled texts."
    if len(order) == 1:
        return "unknown", f"Only {order[0]} was tested on labelled texts."
    if not same:
        return "unknown", "Not comparable: the runs were tested on different texts."
    shown = [f"{name} {percent(accuracies[name])}" for name in order[:3]] + (["…"] if order[3:] else [])
    if any(name not in tests for name in order[1:]):
        return "mixed", f"{', '.join(shown)}: some runs have no stored answers, so not every difference was tested."
    close = [name for name in order[1:] if tests[name]["p_holm"] >= ALPHA]
    if not close:
        return "good", f"{', '.join(shown)}: {order[0]} is significantly better on {counted(texts, 'text')}."
    if len(close) == len(order) - 1:
        return "mixed", f"{', '.join(shown)}: no significant difference on {counted(texts, 'text')}."
    return "mixed", (
        f"{', '.join(shown)}: no significant difference between {order[0]} and {', '.join(close)} on {counted(texts, 'text')}."
    )


def _figures(judged: Mapping[str, Any], order: Sequence[str]) -> list[Figure]:
    if not order:
        return []
    scores = {name: judged[name] for name in reversed(order)}
    return [figures.accuracies(scores, "Accuracy of each run, with 95\u00a0% intervals.")]
