"""Classify texts of several clients in one batch. If one text fails, the others still get their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.tokens import encode
from alloykit.serving.classifier import Classifier


@dataclass(frozen=True)
class Asked:
    """One text of a request. `pair`: its second text. `truncate`: whether a text that is too long may be cut. `raw`: logits instead of probabilities."""

    text: str
    pair: str | None = None
    truncate: bool = True
    raw: bool = False


@dataclass(frozen=True)
class Answer:
    """`scores`: one per label, in the classifier's order. `truncated`: the classifier did not read the end of the text.
    `none_of_these`: how likely it is that no label fits; None if the classifier cannot compute it."""

    scores: list[float]
    truncated: bool
    none_of_these: float | None = None


class TooLong(Exception):
    """The text has more tokens than the classifier reads, and must not be cut."""


def classify(classifier: Classifier, asked: Sequence[Asked]) -> list[Answer | Exception]:
    """For each text its answer, or an exception with the reason why there is none."""
    try:
        return _classify(classifier, asked)
    except Exception as error:
        if len(asked) == 1:
            return [error]
        return [found for one in asked for found in classify(classifier, [one])]


def _classify(classifier: Classifier, asked: Sequence[Asked]) -> list[Answer | Exception]:
    cut = [tokens > classifier.max_length for tokens in _tokens(classifier, asked)]
    results: list[Answer | Exception] = [
        TooLong(
            f"expected at most {classifier.max_length} tokens; got more. Shorten the text, or send `truncate: true`."
        )
        if too_long and not one.truncate
        else Answer([], too_long)
        for one, too_long in zip(asked, cut, strict=True)
    ]
    for raw, compute in ((False, classifier.probabilities), (True, classifier.logits)):
        at = [i for i, found in enumerate(results) if isinstance(found, Answer) and asked[i].raw == raw]
        if not at:
            continue
        texts, pairs = _columns([asked[i] for i in at])
        scores = compute(texts, pairs)
        if not bool(scores.isfinite().all()):
            raise AlloyError(
                expected="finite scores", got="NaN or infinity", hint="The weights of the student are damaged."
            )
        none = _none_of_these(classifier, texts, pairs)
        for n, (i, row) in enumerate(zip(at, scores.tolist(), strict=True)):
            results[i] = Answer(row, cut[i], None if none is None else float(none[n]))
    return results


def _tokens(classifier: Classifier, asked: Sequence[Asked]) -> list[int]:
    """Tokens of each text, at most one more than the classifier reads."""
    texts, pairs = _columns(asked)
    return [len(e["input_ids"]) for e in encode(classifier.tokenizer, texts, pairs, classifier.max_length + 1)]


def _columns(asked: Sequence[Asked]) -> tuple[list[str], list[str | None] | None]:
    """The texts, and their second texts; None if no text has one."""
    pairs = [one.pair for one in asked]
    return [one.text for one in asked], pairs if any(pair is not None for pair in pairs) else None


def _none_of_these(classifier: Any, texts: list[str], pairs: list[str | None] | None) -> Tensor | None:
    compute: Callable[..., Tensor] | None = getattr(classifier, "none_of_these", None)
    return None if compute is None else compute(texts, pairs)
