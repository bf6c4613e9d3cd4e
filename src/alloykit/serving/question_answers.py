"""What a student says of one text, as a dictionary: one label, several labels, or the answers to several questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.labels import GIVEN
from alloykit.models.questions import QuestionPart


def one_answer(
    labels: Sequence[str],
    probabilities: Tensor,
    *,
    multi_label: bool,
    all_probabilities: bool = False,
    digits: int | None,
) -> dict[str, Any]:
    """`label` and `probability`, and `probabilities` of all labels on request. Of a multi-label student, `labels`, those of at least 0.5, and always
    `probabilities`. probabilities: [C], those of one text. digits: round to so many."""
    best, p = int(probabilities.argmax()), probabilities.tolist()
    if not multi_label and not all_probabilities:
        return {"label": labels[best], "probability": rounded(p[best], digits)}
    every = {label: rounded(q, digits) for label, q in zip(labels, p, strict=True)}
    if multi_label:
        return {"labels": [label for label, q in every.items() if q >= GIVEN], "probabilities": every}
    return {"label": labels[best], "probability": every[labels[best]], "probabilities": every}


def rounded(value: float, digits: int | None) -> float:
    """The number, or as many digits of it as are asked for."""
    return value if digits is None else round(value, digits)


def question_answers(
    parts: Sequence[QuestionPart], probabilities: Tensor, *, all_probabilities: bool, digits: int | None
) -> dict[str, dict[str, Any]]:
    """`one_answer` by question. probabilities: [C], those of one text over all questions."""
    return {
        part.name: one_answer(
            part.labels, part.of(probabilities), multi_label=part.multi_label, all_probabilities=all_probabilities,
            digits=digits,
        )
        for part in parts
    }  # fmt: skip


def require_one_question(parts: Sequence[QuestionPart], what: str) -> None:
    """AlloyError for a student that answers several questions. what: what is asked of it."""
    if parts:
        raise AlloyError(
            expected=f"a student that answers one question, for {what}",
            got=f"one that answers {', '.join(part.name for part in parts)}",
            hint=f"Name the folder of one question in the run folder, such as RUN/questions/{parts[0].name}.",
        )
