"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.escape import visible
from alloykit.finished_runs.explain_text import Explanation
from alloykit.labels import GIVEN
from alloykit.models.questions import QuestionPart
from alloykit.serving.classify import Answer


def scores_view(labels: Sequence[str], scores: Sequence[float]) -> list[dict[str, Any]]:
    """[{"score", "label"}], the highest score first."""
    order = sorted(range(len(labels)), key=lambda i: -scores[i])
    return [{"score": scores[i], "label": labels[i]} for i in order]


def explanation_view(
    parts: Sequence[QuestionPart], answer: Answer, explained: Explanation | None, method: str, why: str
) -> dict[str, Any]:
    """What the page shows of one text. Invisible characters of names are written out. parts: of the labels, those of each question. why: the
    reason, if there is no explanation."""
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
        "student": [_answer_view(part, answer.scores) for part in parts],
        "none_of_these": answer.none_of_these,
        "truncated": answer.truncated,
        "teachers": teachers,
        "why_no_teachers": why or None,
    }


def _answer_view(part: QuestionPart, scores: Sequence[float]) -> dict[str, Any]:
    """The answer to one question: its name, the labels that are given, and the scores of all of its labels."""
    own = dict(zip(part.labels, scores[part.first : part.first + len(part.labels)], strict=True))
    shown = _shown(own)
    given = [one["label"] for one in shown if one["score"] >= GIVEN] if part.multi_label else [shown[0]["label"]]
    return {"question": visible(part.name), "multi_label": part.multi_label, "given": given, "scores": shown}


def _shown(probabilities: Mapping[str, float]) -> list[dict[str, Any]]:
    return scores_view([visible(label) for label in probabilities], list(probabilities.values()))
