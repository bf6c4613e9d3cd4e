"""What `predict` and `Run.predict` say of each text, as dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from alloykit.data.table import row_problem
from alloykit.errors import AlloyError
from alloykit.serving.question_answers import one_answer, question_answers, require_one_question, rounded
from alloykit.serving.text_classifier import TextClassifier


@dataclass(frozen=True)
class AnswerKeys:
    """What an answer has beside the label and its probability."""

    all_probabilities: bool = False
    none_of_these: bool = False
    estimated_accuracy: bool = False

    def check(self, classifier: TextClassifier) -> None:
        """AlloyError for what this classifier cannot say."""
        for name in ("none_of_these", "estimated_accuracy"):
            if getattr(self, name):
                require_one_question(classifier.questions, f"`{name}`")
        if self.estimated_accuracy and classifier.multi_label:
            raise AlloyError(
                expected="a student whose labels exclude each other, for `estimated_accuracy`",
                got="a multi-label student",
                hint="Use `alloykit predict` and `alloykit evaluate`, or transformers.",
            )
        if self.estimated_accuracy and not classifier.estimated_accuracy:
            raise AlloyError(
                expected="a student with an estimated accuracy",
                got="one without it",
                hint="The method `alloy` estimates it, for a student that mostly gives the labels of its targets.",
            )


def text_answers(
    classifier: TextClassifier,
    texts: Sequence[str],
    pairs: Sequence[str | None] | None,
    keys: AnswerKeys,
    name: str = "student",
    *,
    digits: int | None = None,
) -> list[dict[str, Any]]:
    """One dictionary for each text; an empty one with `error` for a text that is not usable. digits: of every number; all of them if not given.
    AlloyError for what the classifier cannot say."""
    keys.check(classifier)
    seconds = [None] * len(texts) if pairs is None else pairs
    problems = [row_problem(text, second) for text, second in zip(texts, seconds, strict=True)]
    at = [n for n, problem in enumerate(problems) if not problem]
    usable = [texts[n] for n in at], None if pairs is None else [pairs[n] for n in at]
    answers = iter(_usable_answers(classifier, *usable, keys, name, digits))
    return [empty_answer(classifier) | {"error": problem} if problem else next(answers) for problem in problems]


def _usable_answers(
    classifier: TextClassifier,
    texts: Sequence[str],
    pairs: Sequence[str | None] | None,
    keys: AnswerKeys,
    name: str,
    digits: int | None,
) -> list[dict[str, Any]]:
    predicted = classifier.predict(texts, pairs, name, none_of_these=keys.none_of_these)
    found: list[dict[str, Any]] = []
    for n, row in enumerate(predicted.probabilities):
        if classifier.questions:
            parts = question_answers(classifier.questions, row, all_probabilities=keys.all_probabilities, digits=digits)
            found.append({"answers": parts})
            continue
        answer = one_answer(classifier.labels, row, multi_label=classifier.multi_label, digits=digits)
        if predicted.none_of_these is not None:
            answer["none_of_these"] = rounded(float(predicted.none_of_these[n]), digits)
        if keys.estimated_accuracy:
            share = classifier.estimated_accuracy.get(answer["label"])
            answer["estimated_accuracy"] = None if share is None else rounded(share, digits)
        if keys.all_probabilities:
            p = [rounded(q, digits) for q in row.tolist()]
            answer["probabilities"] = dict(zip(classifier.labels, p, strict=True))
        found.append(answer)
    return found


def empty_answer(classifier: TextClassifier) -> dict[str, Any]:
    """The answer to a row without a usable text."""
    if classifier.questions:
        return {"answers": None}
    return {"labels": None, "probabilities": None} if classifier.multi_label else {"label": None, "probability": None}
