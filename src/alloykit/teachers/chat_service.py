"""A language model behind an OpenAI-compatible chat endpoint: it chooses one of the labels, which the prompt lists with a letter each."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.errors import AlloyError
from alloykit.names import short, shown
from alloykit.teachers.answers import log_probability_of, spread_probabilities
from alloykit.teachers.json_template import fill, value_at
from alloykit.teachers.score_service import Post, Read
from alloykit.teachers.service_client import UnreadableAnswer

TEMPLATE = """Which of these categories does the text belong to?

{options}

Text:
{text}

Answer with the {kind} of one category only."""
TOP_TOKENS = 20  # the most that services give
MAX_TOKENS = 8
_THOUGHTS = "<think>", "</think>"
_AROUND = string.whitespace + string.punctuation


class ChatService:
    """Asks for one text in a request.

    With token probabilities: the first token of the answer that is an option is looked up among its alternatives, and the rest of
    the mass is spread evenly over the labels that are not named. Without: the shares of `samples` answers, or `certainty` for the one answer.
    """

    batch = 1

    def __init__(
        self,
        teacher: str,
        model: str,
        labels: Sequence[str],
        *,
        template: str,
        request: Mapping[str, Any],
        logprobs: bool,
        samples: int | None,
        certainty: float | None,
    ) -> None:
        self._teacher, self._template, self._extra = teacher, template, dict(request)
        self._model, self._labels, self._samples, self._certainty = model, list(labels), samples, certainty
        self._with_logprobs = logprobs
        self.options, self._kind = answer_options(labels)
        self._by_option = {option.lower(): label for option, label in zip(self.options, labels, strict=True)}
        self._by_name = {label.lower(): label for label in labels}
        self.outside: list[str] = []  # an answer each, shortened

    def ask(self, texts: Sequence[Read], post: Post) -> list[list[float] | None]:
        """The probabilities of one text, or None. UnreadableAnswer."""
        (read,) = texts
        if self._with_logprobs:
            asked = {"temperature": 0, "logprobs": True, "top_logprobs": TOP_TOKENS}
            choice = _choices(post(self._body(read, asked)))[0]
            tokens = _tokens(choice)
            if tokens:
                return [self._of_tokens(tokens, _text(choice))]
            if self._samples is None:
                if self._certainty is None:
                    raise AlloyError(
                        expected=f"token probabilities (`logprobs`) of teacher '{self._teacher}'",
                        got="an answer without them",
                        hint="Set `samples: 5` to take the shares of 5 answers, or `certainty: 0.9` for the one answer.",
                    )
                return [self._with_certainty(_text(choice))]
            self._with_logprobs = False  # this service has none: do not ask again
        if self._samples is None:
            return [self._with_certainty(_text(_choices(post(self._body(read, {"temperature": 0})))[0]))]
        found = list[str]()
        while len(found) < self._samples:  # services that ignore `n` give one answer each time
            more = {"temperature": 1, "n": self._samples - len(found)}
            found += [_text(choice) for choice in _choices(post(self._body(read, more)))]
        shares = Counter(label for text in found[: self._samples] if (label := self._label(text)) is not None)
        total = sum(shares.values())
        return [[shares[label] / total for label in self._labels] if total else None]

    def _body(self, read: Read, more: Mapping[str, Any]) -> dict[str, Any]:
        """The request. Fields of `request:` replace these; a field that is null there is left out."""
        text, pair = read
        if pair is not None and "{text_pair}" not in self._template:
            text = f"{text}\n\n{pair}"
        listed = "\n".join(f"{option}. {label}" for option, label in zip(self.options, self._labels, strict=True))
        places = {"options": listed, "text": text, "text_pair": pair or "", "kind": self._kind}
        content = fill(f"{self._template}\n", places)[:-1]
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": MAX_TOKENS,
            **more,
            **self._extra,
        }
        return {key: value for key, value in body.items() if value is not None}

    def _of_tokens(self, tokens: list[dict[str, Any]], text: str) -> list[float] | None:
        for token in tokens:
            word = token["token"].strip(_AROUND).lower()
            if not word:
                continue  # a space or a quote before the answer
            if word not in self._by_option:
                break
            named = dict[str, float]()
            for other in token.get("top_logprobs") or [token]:
                label = self._by_option.get(str(other["token"]).strip(_AROUND).lower())
                if label is not None:  # "A" and " A" are one label: their probabilities are added
                    named[label] = named.get(label, 0.0) + math.exp(log_probability_of(other["logprob"]))
            return spread_probabilities(named, self._labels) if named else None
        label = self._label(text)  # an answer of several tokens: its probability is their product
        if label is None:
            return None
        probability = math.exp(sum(log_probability_of(token["logprob"]) for token in tokens))
        return spread_probabilities({label: probability}, self._labels)

    def _with_certainty(self, text: str) -> list[float] | None:
        assert self._certainty is not None
        label = self._label(text)
        return None if label is None else spread_probabilities({label: self._certainty}, self._labels)

    def _label(self, text: str) -> str | None:
        """The label that an answer names: `B`, `B. login`, `(b)`, `login`."""
        answered = _without_thoughts(text).strip(_AROUND).lower()
        label = self._by_option.get(answered) or self._by_name.get(answered)
        if label is None and (match := re.match(r"(\w+)[\s.:)\]–-]+(.+)", answered, re.DOTALL)):
            first, rest = self._by_option.get(match[1]), self._by_name.get(match[2].strip(_AROUND))
            label = first if first is not None and first == rest else None
        if label is None:
            self.outside.append(short(text.strip()))
        return label


def answer_options(labels: Sequence[str]) -> tuple[list[str], str]:
    """A short name of one token for each label, and what it is: letters, or numbers of equal length where there are many labels or
    where a label is a letter itself."""
    names = {label.lower() for label in labels}
    starts = (10, 100, 1000, 10_000)
    for options, kind in (
        (list(string.ascii_uppercase), "letter"),
        *(([str(n) for n in range(start, min(10 * start, start + len(labels)))], "number") for start in starts),
    ):
        if len(options) >= len(labels) and not names & {o.lower() for o in options[: len(labels)]}:
            return options[: len(labels)], kind
    raise AlloyError(expected="labels of which not all are numbers, and at most 90,000", got=f"{len(labels):,}")


def _without_thoughts(text: str) -> str:
    """The text without each <think>…</think>, in time that grows with its length and not with its square."""
    (begin, end), parts, at = _THOUGHTS, list[str](), 0
    while (first := text.find(begin, at)) >= 0 and (last := text.find(end, first)) >= 0:
        parts.append(text[at:first])
        at = last + len(end)
    return "".join([*parts, text[at:]])


def _choices(reply: Any) -> list[Any]:
    found = value_at(["choices"], reply)
    if not isinstance(found, list) or not found:
        raise UnreadableAnswer(f"`choices` of {shown(found)}")
    return found


def _text(choice: Any) -> str:
    found = value_at(["message", "content"], choice)
    if found is not None and not isinstance(found, str):
        raise UnreadableAnswer(f"a message of {shown(found)}")
    return found or ""


def _tokens(choice: Any) -> list[dict[str, Any]]:
    """The tokens of an answer with their log-probabilities; [] where the service gives none."""
    found = choice.get("logprobs") if isinstance(choice, Mapping) else None
    content = found.get("content") if isinstance(found, Mapping) else None
    if not content:
        return []
    try:
        for token in content:
            for entry in (token, *(token.get("top_logprobs") or [])):
                log_probability_of(entry["logprob"])
                if not isinstance(entry["token"], str):
                    raise TypeError
    except (TypeError, KeyError, ValueError, AttributeError):
        raise UnreadableAnswer(
            f"`logprobs` of {shown(content)}, where log-probabilities are expected, none above 0"
        ) from None
    return list(content)
