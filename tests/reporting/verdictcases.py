"""metrics.json of tested runs, by hand."""

from __future__ import annotations

from typing import Any

from alloykit.reporting.verdict import Verdict, verdict


def rival(difference: float, low: float, high: float, p: float) -> dict[str, float]:
    return {"difference": difference, "low": low, "high": high, "p_holm": p, "mcnemar_p_holm": p}


BETTER = rival(0.1, 0.05, 0.15, 0.001)


def case(accuracy: float = 0.8, judged: str = "student", **rivals: dict[str, float]) -> dict[str, Any]:
    """metrics.json of a run on 1,000 texts of two labels, with the best alternatives that a test names (_ for a space)."""
    gains = {name.replace("_", " "): gain for name, gain in rivals.items()}
    scores = {name: {"accuracy": accuracy - gain["difference"]} for name, gain in gains.items()}
    scores[judged] = {"accuracy": accuracy, "interval": [accuracy - 0.02, accuracy + 0.02]}
    return {
        "labels": ["refund", "track"],
        "evaluation": {
            "texts": 1000,
            "scores": scores,
            "judged": judged,
            "confusion": [[450, 50], [50, 450]],
            "reliability": {judged: {"ece": 0.021, "overconfidence": 0.01}},
            "significance": gains,
        },
    }


def points(metrics: dict[str, Any], word: str) -> list[str]:
    return [point for point in verdict(metrics).points if word in point]


def check(metrics: dict[str, Any], status: str, headline: str) -> Verdict:
    found = verdict(metrics)
    assert (found.status, found.headline) == (status, headline)
    for sentence in (found.headline, *found.points):
        assert not any(wrong in sentence for wrong in ("-0.0", "−0.0", "nan", "None", "inf ")), sentence
    return found
