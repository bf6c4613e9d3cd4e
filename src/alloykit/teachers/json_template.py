"""Requests and answers of any JSON service: a structure with places for texts, and paths to values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.names import quoted, shown
from alloykit.teachers.service_client import UnreadableAnswer

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*)\]")


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The structure with its places filled. A string that is one place, such as "{texts}", becomes the value; in a longer string each
    place becomes text. Texts that hold a place of their own stay as they are."""
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    if template[:1] == "{" and template[1:-1] in values and template[-1:] == "}":
        return values[template[1:-1]]
    pattern = "|".join(re.escape(f"{{{name}}}") for name in values)
    return re.sub(pattern, lambda match: str(values[match[0][1:-1]]), template)


def mentions(template: Any, place: str) -> bool:
    """Whether a structure has this place, such as "{texts}"."""
    if isinstance(template, Mapping):
        return any(mentions(value, place) for value in template.values())
    if isinstance(template, list):
        return any(mentions(value, place) for value in template)
    return isinstance(template, str) and place in template


def path_steps(path: str) -> list[str | int]:
    """The steps of a path such as `predictions[*].scores[0]`: keys, positions, and "*" for all. ValueError."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"give a path such as predictions[*].scores, instead of {shown(path)}")
        key, position = match.groups()
        found.append(key if key is not None else "[*]" if position == "*" else int(position))
        at = match.end()
    return found


def value_at(steps: Sequence[str | int], value: Any) -> Any:
    """The value at a path in an answer; a list where the path has `[*]`. UnreadableAnswer."""
    for n, step in enumerate(steps):
        if step == "[*]":
            if not isinstance(value, list):
                raise UnreadableAnswer(f"{shown(value)} where the answer's path expects a list")
            return [value_at(steps[n + 1 :], item) for item in value]
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                raise UnreadableAnswer(f"{shown(value)} where the answer's path expects at least {step + 1} values")
        elif not isinstance(value, Mapping) or step not in value:
            keys = quoted(value) if isinstance(value, Mapping) else ""
            raise UnreadableAnswer(f"no '{step}' in the answer" + (f", which has {keys}" if keys else ""))
        value = value[step]  # type: ignore[index]
    return value
