"""What a student that answers several questions says of one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.questions import QuestionPart


def question_answers(
    parts: Sequence[QuestionPart], probabilities: Tensor, *, all_probabilities: bool, digits: int | None = None
) -> dict[str, dict[str, Any]]:
    """By question, `label` and `probability`, and `probabilities` of all labels on request. probabilities: [C], those of one text over all
    questions. digits: round to so many."""
    answers = {}
    for part in parts:
        p = [float(q) if digits is None else round(float(q), digits) for q in part.of(probabilities)]
        best = int(part.of(probabilities).argmax())
        answer: dict[str, Any] = {"label": part.labels[best], "probability": p[best]}
        if all_probabilities:
            answer["probabilities"] = dict(zip(part.labels, p, strict=True))
        answers[part.name] = answer
    return answers


def require_one_question(parts: Sequence[QuestionPart], what: str) -> None:
    """AlloyError for a student that answers several questions. what: what is asked of it."""
    if parts:
        raise AlloyError(
            expected=f"a student that answers one question, for {what}",
            got=f"one that answers {', '.join(part.name for part in parts)}",
            hint=f"Name the folder of one question in the run folder, such as RUN/questions/{parts[0].name}.",
        )
