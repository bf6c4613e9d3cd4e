"""Classify texts of several clients in one batch. If one text fails, the others still get their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alloykit.errors import AlloyError
from alloykit.models.tokens import encode
from alloykit.serving.classifier import Classifier
from alloykit.serving.prediction import Prediction


@dataclass(frozen=True)
class Asked:
    """One text of a request. `pair`: its second text. `truncate`: a text that is too long may be cut. `raw`: answer with logits instead of
    probabilities."""

    text: str
    pair: str | None = None
    truncate: bool = True
    raw: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer to one text. `scores`: one per label, in the classifier's order. `truncated`: the classifier did not read the end of the text.
    `none_of_these`: the share of the pool's texts that are less unusual; None if the classifier does not say."""

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
    cut = _cut(classifier, asked)
    results: list[Answer | Exception] = [
        TooLong(
            f"expected at most {classifier.max_length} tokens; got more. Shorten the text, or send `truncate: true`."
        )
        if too_long and not one.truncate
        else Answer([], too_long)
        for one, too_long in zip(asked, cut, strict=True)
    ]
    for raw in (False, True):
        at = [i for i, found in enumerate(results) if isinstance(found, Answer) and asked[i].raw == raw]
        if not at:
            continue
        texts, pairs = _columns([asked[i] for i in at])
        found = (
            Prediction(classifier.logits(texts, pairs))
            if raw
            else classifier.predict(texts, pairs, none_of_these=classifier.knows_unusual)
        )
        if not bool(found.probabilities.isfinite().all()):
            raise AlloyError(
                expected="finite scores", got="NaN or infinity", hint="The weights of the student are damaged."
            )
        unusual = found.none_of_these
        for n, (i, row) in enumerate(zip(at, found.probabilities.tolist(), strict=True)):
            results[i] = Answer(row, cut[i], None if unusual is None else float(unusual[n]))
    return results


def _cut(classifier: Classifier, asked: Sequence[Asked]) -> list[bool]:
    """Whether the classifier does not read all of a text, for each of them."""
    if classifier.long_texts == "mean":
        return [False] * len(asked)
    texts, pairs = _columns(asked)
    found = encode(classifier.tokenizer, texts, pairs, classifier.max_length + 1)
    return [len(e["input_ids"]) > classifier.max_length for e in found]


def _columns(asked: Sequence[Asked]) -> tuple[list[str], list[str | None] | None]:
    """The texts, and their second texts; None if no text has one."""
    pairs = [one.pair for one in asked]
    return [one.text for one in asked], pairs if any(pair is not None for pair in pairs) else None
