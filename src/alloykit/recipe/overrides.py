"""Changes of a recipe from the command line: `-o training.epochs=5`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.data import TextsOptions
from alloykit.errors import AlloyError
from alloykit.names import short, shown
from alloykit.yaml_files import parse_yaml

EXAMPLE = "For instance `-o training.epochs=5`, `-o texts.limit=100` or `-o teachers.0.name=billing`."
# At these keys, a string stands for a block with this single key.
ONE_KEY = {
    "method": "name",
    "engine": "name",
    "of": "name",
    "student": "model",
    "model": "model",
    "language_model": "model",
}


def override(values: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The values of a recipe after `changes`, each "dotted.key=YAML value", in their order. `values` stays as it is.

    A number in the key is a position in a list. If a key inside a string that stands for a block (`texts: tickets.csv`) is set,
    the string becomes that block. Missing blocks are added. AlloyError for a change that is not possible.
    """
    result: Any = dict(values)
    for change in changes:
        key, sign, text = change.partition("=")
        parts = key.strip().split(".")
        if not sign or not all(parts):
            raise AlloyError(expected="KEY=VALUE after -o", got=shown(change), hint=EXAMPLE)
        result = _with_value(result, parts, parse_yaml(text, f"the value of -o {key.strip()}"), "")
    recipe: dict[str, Any] = result
    return recipe


def _with_value(block: Any, parts: Sequence[str], value: Any, path: str) -> Any:
    """A copy of the block with a new value at the key `parts` below it. path: the key of the block, for messages."""
    part, *rest = parts
    key = f"{path}.{part}".lstrip(".")
    if isinstance(block, str):
        block = _as_block(block, path)
    if block is None:
        block = {}
    if isinstance(block, list):
        if not (part.isascii() and part.isdecimal() and len(part) < 20 and int(part) < len(block)):
            expected = (
                f"a position from 0 to {len(block) - 1} in `{path}`"
                if block
                else f"an entry in `{path}`, which has none"
            )
            raise AlloyError(expected=expected, got=f"-o {short(key)}", hint=EXAMPLE)
        position = int(part)
        changed = _with_value(block[position], rest, value, key) if rest else value
        return [*block[:position], changed, *block[position + 1 :]]
    if not isinstance(block, Mapping):
        raise AlloyError(expected=f"a block at `{path}`, for -o {key}", got=shown(block), hint=EXAMPLE)
    return {**block, part: _with_value(block.get(part), rest, value, key) if rest else value}


def _as_block(text: str, path: str) -> Any:
    """The block that a string at this key stands for; the string itself if it stands for none."""
    *before, last = path.split(".")
    if last in ("texts", "data"):
        return TextsOptions.from_string(text).model_dump(exclude_unset=True)
    if before[-1:] == ["teachers"] or before[-1:] == ["models"]:
        return {"model": text}
    return {ONE_KEY[last]: text} if last in ONE_KEY else text
