"""Services that answer with labels and scores: text-embeddings-inference, Hugging Face Inference, and any other one by two templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from alloykit.names import short, shown
from alloykit.teachers.answers import SUM_TOLERANCE, number_of, spread_probabilities
from alloykit.teachers.json_template import fill, mentions, path_steps, value_at
from alloykit.teachers.service_client import UnreadableAnswer

Post = Callable[[Any], Any]
Read = tuple[str, str | None]
"""A text, and its second text where texts are pairs."""


class ScoreService:
    """Asks for several texts in one request."""

    def __init__(
        self, request: Any, answer: str | Mapping[str, str], labels: Mapping[str, str], values: str, *, batch: int
    ) -> None:
        """labels: the service's name of each label, in the teacher's order, and its name here. values: `probabilities` or `logits`."""
        self._request, self._values = request, values
        self._several = mentions(request, "{texts}") or mentions(request, "{inputs}")
        self._paths = {k: path_steps(v) for k, v in (answer.items() if isinstance(answer, Mapping) else [("", answer)])}
        self._labels, self._known, self.batch = list(labels), frozenset(labels), batch if self._several else 1
        self.outside: list[str] = []  # of each answer with such labels the first one, shortened

    def ask(self, texts: Sequence[Read], post: Post) -> list[list[float] | None]:
        """The probabilities of each text, or None. UnreadableAnswer."""
        text, pair = texts[0]
        inputs = [[part for part in read if part is not None] for read in texts]  # [[text], …] or [[text, second], …]
        given = [text if pair is None else [text, pair] for text, pair in texts]
        reply = post(fill(self._request, {"texts": given, "inputs": inputs, "text": text, "text_pair": pair or ""}))
        found = {key: value_at(steps, reply) for key, steps in self._paths.items()}
        for key, value in found.items():
            if not self._several:
                found[key] = [value]
            elif key == "" and len(texts) == 1 and isinstance(value, list) and value and _is_entry(value[0]):
                found[key] = [value]  # some services answer one text without the outer list
            elif not isinstance(value, list) or len(value) != len(texts):
                count = f"{len(value)} answers" if isinstance(value, list) else shown(value)
                raise UnreadableAnswer(f"{count} to {len(texts)} texts")
        if "" in found:
            return [self._probabilities(value) for value in found[""]]
        return [self._of_two(*both) for both in zip(found["labels"], found["scores"], strict=True)]

    def _of_two(self, labels: Any, scores: Any) -> list[float] | None:
        if isinstance(labels, str):
            labels, scores = [labels], [scores]
        if not isinstance(labels, list) or not isinstance(scores, list) or len(labels) != len(scores):
            raise UnreadableAnswer(f"{shown(labels)} and {shown(scores)} where as many labels as scores are expected")
        return self._probabilities([{"label": a, "score": b} for a, b in zip(labels, scores, strict=True)])

    def _probabilities(self, answer: Any) -> list[float] | None:
        """Of one text: a label, {label: score}, [{label, score}], or scores in the order of the labels."""
        if answer is None:
            return None
        if isinstance(answer, str):
            answer = {answer: 1.0 if self._values == "probabilities" else 0.0}
        if isinstance(answer, list) and answer and all(map(_is_entry, answer)):
            answer = {str(entry["label"]): entry["score"] for entry in answer}
        if isinstance(answer, list) and len(answer) == len(self._labels):
            answer = dict(zip(self._labels, answer, strict=True))
        if not isinstance(answer, Mapping):
            raise UnreadableAnswer(f"{shown(answer)} where labels with scores are expected")
        scores = {str(label).strip(): _finite(score) for label, score in answer.items()}
        named = {label: score for label, score in scores.items() if label in self._known}
        if len(named) < len(scores):
            self.outside.append(short(next(label for label in scores if label not in named)))
        if not named:
            return None
        if self._values == "logits":
            if len(named) < len(self._labels):
                raise UnreadableAnswer(f"logits of {len(named)} of {len(self._labels)} labels")
            top = max(named.values())
            named = {label: math.exp(score - top) for label, score in named.items()}
            total = sum(named.values())
            named = {label: score / total for label, score in named.items()}
        total = sum(named.values())
        if min(named.values()) < 0 or total > 1 + SUM_TOLERANCE or (len(named) == len(self._labels) and total <= 0):
            raise UnreadableAnswer(f"scores {shown([round(v, 4) for v in named.values()])}, which are no probabilities")
        return spread_probabilities(named, self._labels)


def _is_entry(value: Any) -> bool:
    return isinstance(value, Mapping) and "label" in value and "score" in value


def _finite(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) else number_of(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnreadableAnswer(f"{shown(value)} where a score is expected")
    return number
