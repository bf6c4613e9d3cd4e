"""The figures of a run that trackers get, besides the losses of the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tracked_figures(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Figures by name, from the content of metrics.json: agreement of the teachers, the student, accuracy with its interval, routing.

    Trackers group names by what is before "/": `test_…` is what was measured on the labelled texts.
    """
    found: dict[str, float] = {}
    if agreement := metrics.get("agreement"):
        counts = {key: agreement["confident_teachers"][key] for key in ("none", "one", "several")}
        total = max(sum(counts.values()), 1)
        found |= {f"pool/share_of_texts_with_{key}_confident_teacher": count / total for key, count in counts.items()}
    for name, health in metrics.get("health", {}).items():
        found[f"pool/{name}/mean_probability"] = health["max_probability"]
    if (same := (metrics.get("student") or {}).get("same_as_supervision")) is not None:
        found["pool/student_agrees_with_targets"] = same
    evaluation = metrics.get("evaluation") or {}
    for way, score in evaluation.get("scores", {}).items():
        place = f"test_{way.replace(' ', '_')}"
        found[f"{place}/accuracy"], found[f"{place}/macro_f1"] = score["accuracy"], score["macro_f1"]
        if "interval" in score:
            found[f"{place}/accuracy_low"], found[f"{place}/accuracy_high"] = score["interval"]
        if "correct_teacher" in score:
            found[f"{place}/correct_teacher"] = score["correct_teacher"]
    for way, curve in evaluation.get("reliability", {}).items():
        found[f"test_{way.replace(', ', '_').replace(' ', '_')}/ece"] = curve["ece"]
    return {key: float(value) for key, value in found.items()}
