"""Several runs on one page: scores side by side, paired tests where the test texts are the same, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alloykit.evaluation.significance import against
from alloykit.report import figures
from alloykit.report.figures import Picture
from alloykit.report.page import environment
from alloykit.report.verdict import verdict

PLUMBING = {"output"}  # differs between any two runs


def render_comparison(runs: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any] | None]) -> str:
    """The page. runs: as `page.load` gives them, with different names; answers: per run {ids, right} of whoever is judged
    (`right`: [n] bool, `ids`: bytes), or None where it was not tested."""
    names = [run["name"] for run in runs]
    tested = {
        n: run["metrics"]["evaluation"] for n, run in zip(names, runs, strict=True) if run["metrics"].get("evaluation")
    }
    same = _same_texts(answers)
    order = sorted(tested, key=lambda name: _judged(tested[name])["accuracy"], reverse=True)
    best = order[0] if order else None
    tests = {}
    right = {n: a["right"] for n, a in zip(names, answers, strict=True) if a is not None}
    if same and best is not None and best in right:
        tests = against(right, best)
    accuracies = {n: _judged(e)["accuracy"] for n, e in tested.items()}
    mood, sentence = _sentence(order, accuracies, tests, same or len(right) < 2)
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            title=f"{len(runs)} runs side by side",
            runs=runs,
            verdicts={n: verdict(run["metrics"]) for n, run in zip(names, runs, strict=True)},
            tested=tested,
            judged={n: _judged(e) for n, e in tested.items()},
            best=best,
            tests=tests,
            same=same,
            mood=mood,
            sentence=sentence,
            pictures=_pictures(tested, order),
            differences=differences([run["recipe"] for run in runs]),
        )
    )


def differences(recipes: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """The keys in which the recipes differ, each with its value per run ("–" where it is not there)."""
    flat = [_flat(recipe) for recipe in recipes]
    keys = list(dict.fromkeys(key for f in flat for key in f))
    rows = []
    for key in keys:
        values = [f.get(key, "–") for f in flat]
        if len(set(values)) > 1 and key not in PLUMBING:
            rows.append((key, values))
    return rows


def _flat(value: Any, where: str = "") -> dict[str, str]:
    if isinstance(value, Mapping) and value:
        return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{where}.{key}".lstrip(".")).items()}
    if isinstance(value, list) and value and isinstance(value[0], (Mapping, list)):
        return {k: v for n, inner in enumerate(value, 1) for k, v in _flat(inner, f"{where}.{n}").items()}
    return {where: ", ".join(map(str, value)) if isinstance(value, list) else str(value)}


def _judged(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    return dict(evaluation["scores"][evaluation["judged"]])


def _same_texts(answers: Sequence[Mapping[str, Any] | None]) -> bool:
    given = [a for a in answers if a is not None]
    return len(given) > 1 and all(
        a["ids"] == given[0]["ids"] and bool(np.array_equal(a["labels"], given[0]["labels"])) for a in given
    )


def _sentence(
    order: Sequence[str], accuracies: Mapping[str, float], tests: Mapping[str, Any], same: bool
) -> tuple[str, str]:
    """Mood and sentence. `tests`: of those that have answers to compare; a run without them counts as not different."""
    if not order:
        return "unknown", "None of these runs was tested on labelled texts."
    if len(order) == 1:
        return "unknown", f"Only {order[0]} was tested on labelled texts."
    if not same:
        return "unknown", "The runs were tested on different texts: their accuracies cannot be compared fairly."
    level = [name for name in order if accuracies[name] == accuracies[order[0]]]
    if len(level) > 1:
        return "mixed", f"{', '.join(level)} have the same accuracy; no other run has a higher one."
    near = [name for name in order[1:] if name not in tests or tests[name]["p_holm"] >= 0.05]
    if near:
        return (
            "mixed",
            f"{order[0]} has the highest accuracy, but there is no significant difference to {', '.join(near)}.",
        )
    return "good", f"{order[0]} has a significantly higher accuracy than the others (p < 0.05 after Holm's correction)."


def _pictures(tested: Mapping[str, Any], order: Sequence[str]) -> list[Picture]:
    if not order:
        return []
    scores = {name: _judged(tested[name]) for name in reversed(order)}
    return [figures.accuracies(scores, "Accuracy of each run, with its 95 % interval.")]
