"""Warnings that differ only in names and numbers become one: with sixty teachers, a reader would not find the others between sixty that are alike."""

from __future__ import annotations

import re
from collections.abc import Sequence

ALIKE = 4  # so many warnings of a kind become one
SHOWN = 10  # of the others, whose names and numbers the warning lists
_NAME = re.compile(r"'([^']+)'")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
_PLACES = 0xE000  # characters for private use stand for the names


def alike_as_one(warnings: Sequence[str]) -> list[str]:
    """The warnings in their order. At least `ALIKE` that differ only in quoted names and in numbers are one: the first of them, with what differs in the
    others before it."""
    apart = [_apart(warning) for warning in warnings]
    kinds: dict[tuple[str, int], list[int]] = {}
    for n, (kind, details) in enumerate(apart):
        kinds.setdefault((kind, len(details)), []).append(n)
    found = dict[int, str]()
    for which in kinds.values():
        if len(which) < ALIKE:
            found |= {n: warnings[n] for n in which}
        else:
            found[which[0]] = _one(warnings[which[0]], [apart[n][1] for n in which])
    return [found[n] for n in sorted(found)]


def _apart(warning: str) -> tuple[str, list[str]]:
    """What is the same in all warnings of a kind; and the quoted names, each once, and the numbers."""
    names = list(dict.fromkeys(_NAME.findall(warning)))
    place = {name: chr(_PLACES + k) for k, name in enumerate(names)}
    parts = _NAME.sub(lambda found: place[found[1]], warning).split("`")
    for name in sorted(names, key=len, reverse=True):  # between backticks they have no quotes
        parts[1::2] = [re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", place[name], code) for code in parts[1::2]]
    kind = "`".join(parts)
    return _NUMBER.sub("#", kind), [f"'{name}'" for name in names] + _NUMBER.findall(kind)


def _one(first: str, details: Sequence[Sequence[str]]) -> str:
    """details: names and numbers of all warnings of the kind, those of the first one first."""
    differ = [k for k, values in enumerate(zip(*details, strict=True)) if len(set(values)) > 1]
    others = []
    for words in details[1 : 1 + SHOWN]:
        name, *rest = [words[k] for k in differ] or ["the same"]
        others.append(f"{name} ({', '.join(rest)})" if rest else name)
    more = len(details) - 1 - len(others)
    return f"{len(details)} warnings like this one, also for {', '.join(others)}{f' and {more} more' if more else ''}: {first}"
