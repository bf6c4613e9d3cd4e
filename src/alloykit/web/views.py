"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.escape import visible
from alloykit.finished_runs.explain_text import Explanation
from alloykit.serving.classify import Answer


def scores_view(labels: Sequence[str], scores: Sequence[float]) -> list[dict[str, Any]]:
    """[{"score", "label"}], the highest score first."""
    order = sorted(range(len(labels)), key=lambda i: -scores[i])
    return [{"score": scores[i], "label": labels[i]} for i in order]


def explanation_view(
    labels: Sequence[str], answer: Answer, explained: Explanation | None, method: str, why: str
) -> dict[str, Any]:
    """What the page shows of one text. Invisible characters of names are written out. why: the reason, if there is no explanation."""
    teachers = None
    if explained is not None:
        teachers = {
            "origin": explained.origin,
            "method": method,
            "answers": [
                {"name": visible(t.name), "scores": _shown(t.probabilities), "share": t.share}
                for t in explained.teachers
            ],
            "target": None if explained.target is None else _shown(explained.target),
            "weight": explained.weight,
        }
    return {
        "student": _shown(dict(zip(labels, answer.scores, strict=True))),
        "none_of_these": answer.none_of_these,
        "truncated": answer.truncated,
        "teachers": teachers,
        "why_no_teachers": why or None,
    }


def _shown(probabilities: Mapping[str, float]) -> list[dict[str, Any]]:
    return scores_view([visible(label) for label in probabilities], list(probabilities.values()))
