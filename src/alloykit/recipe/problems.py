"""What is wrong with a recipe, in the words of whoever wrote it."""

from __future__ import annotations

import difflib
import types
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from alloykit.names import short, shown

LISTED = 30  # problems in one message


def explain(error: ValidationError, kind: type[BaseModel]) -> list[str]:
    """One line per problem: where, what, and the nearest known key where a key is unknown."""
    lines = []
    for problem in error.errors():
        # Union members put their type's name into the path; a reader of YAML has no use for it.
        path = [str(p) for p in problem["loc"] if str(p) not in ("TextsOptions", "InMemory", "bool", "list[str]")]
        path = [p for p in path if not p.startswith(("literal[", "constrained-"))]
        if any(str(p).startswith("literal[") for p in problem["loc"]):
            continue  # one member of a union; the others say what is wrong
        where = ".".join(map(short, path))
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            if any(str(p) == "InMemory" for p in problem["loc"]):
                continue
            known = _known_keys(kind, path[:-1], str(error.title))
            near = difflib.get_close_matches(path[-1][:100], known, n=1, cutoff=0.5)
            message = "unknown key" + (f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(known)}")
        elif problem["type"] == "missing":
            if path[-1] == "in_memory":
                continue
            message = "is missing"
        elif "instance of" in problem["msg"]:
            message = "give a path, or a block such as {path: texts.csv, text: COLUMN}"
        elif problem["type"] not in ("value_error",):
            message = f"{message}, got {shown(problem['input'])}"
        lines.append(f"{where}: {message}" if where else message)
    return list(dict.fromkeys(lines))


def listed(lines: list[str]) -> str:
    """Problems as the `got` of an AlloyError: their number, then one in a line."""
    more = [f"… and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return f"{len(lines)} problem(s):\n" + "\n".join(f"  - {line}" for line in [*lines[:LISTED], *more]) + "\n"


def _known_keys(kind: type[BaseModel], path: list[str], title: str) -> list[str]:
    """Keys of the model at a path of the recipe."""
    model: type[BaseModel] | None = kind
    for part in path:
        if part.isdigit() or model is None:
            continue
        field = model.model_fields.get(part)
        model = _model_in(field.annotation) if field is not None else None
    return list((model or kind).model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (list, typing.Union, types.UnionType):
        return next((m for a in typing.get_args(annotation) if (m := _model_in(a)) is not None), None)
    return None
