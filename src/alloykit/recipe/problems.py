"""What is wrong with a recipe, in the words of whoever wrote it."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Tag, ValidationError

from alloykit.names import short, shown

QUOTES = "; put it in quotes: YAML reads yes, no, on and off as true and false, and 1 as a number"
LISTED = 30  # problems in one message


def explain(error: ValidationError, kind: type[BaseModel]) -> list[str]:
    """One line per problem: where, what, and the nearest known key where a key is unknown."""
    lines = []
    for problem in error.errors():
        path, block = _place(problem["loc"], kind)
        where = ".".join(map(short, path))
        if problem["loc"][-1:] == ("[key]",):  # before it, pydantic puts the key as a number where it is no text
            where = f"a key of {'.'.join(map(short, path[:-2]))}"
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(path[-1][:100], known := list(block.model_fields), n=1, cutoff=0.5)
            message = "unknown key" + (f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(known)}")
        elif problem["type"] == "missing":
            message = "is missing"
        elif problem["type"] == "too_short":
            message = f"give at least {problem['ctx']['min_length']}, got {shown(problem['input'])}"
        elif problem["type"] == "model_type":
            message = f"give a block with keys such as {', '.join(list(block.model_fields)[:3])}, got {shown(problem['input'])}"
        elif problem["type"] != "value_error":
            message = f"{message}, got {shown(problem['input'])}"
            if problem["type"] == "string_type" and isinstance(problem["input"], (bool, int, float)):
                message += QUOTES
        lines.append(f"{where}: {message}" if where else message)
    return lines


def listed(lines: list[str]) -> str:
    """Problems as the `got` of an AlloyError: their number, then one in a line."""
    more = [f"… and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return f"{len(lines)} problem(s):\n" + "\n".join(f"  - {line}" for line in [*lines[:LISTED], *more]) + "\n"


def _place(loc: Sequence[str | int], kind: type[BaseModel]) -> tuple[list[str], type[BaseModel]]:
    """The keys that lead to a problem, without pydantic's tags of unions, and the innermost block on the way that is known."""
    path, block = list[str](), kind
    annotation: Any = kind
    for part in loc:
        if (member := _members(annotation).get(str(part))) is not None:
            annotation = member
        else:
            path.append(str(part))
            annotation = _inside(annotation, str(part))
        block = _block_in(annotation) or block
    return path, block


def _members(annotation: Any) -> dict[str, Any]:
    """The members of a union by tag; none of anything else."""
    found = {}
    for member in typing.get_args(_bare(annotation)):
        for tag in typing.get_args(member)[1:] if typing.get_origin(member) is Annotated else ():
            if isinstance(tag, Tag):
                found[tag.tag] = member
    return found


def _inside(annotation: Any, part: str) -> Any:
    """What a key of a block, or a place in a list or mapping, is annotated with; Any if there is no such key."""
    block = _block_in(annotation)
    if block is not None:
        field = block.model_fields.get(part)
        return Any if field is None else field.annotation
    return next(reversed(typing.get_args(_bare(annotation))), Any)


def _block_in(annotation: Any) -> type[BaseModel] | None:
    bare = _bare(annotation)
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None


def _bare(annotation: Any) -> Any:
    """Without `Annotated` and `| None`."""
    if typing.get_origin(annotation) is Annotated:
        return _bare(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return _bare(members[0]) if len(members) == 1 else annotation
    return annotation
