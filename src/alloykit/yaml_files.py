"""Read YAML safely: only plain values, a limited number of them, and one AlloyError for any problem. And write a value on one line."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.error import MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.names import shown

MAX_BYTES = 1_000_000  # of a file
MAX_VALUES = 20_000  # keys and values of a file; an alias counts as all values that it stands for
MAX_DEPTH = 50  # nested lists and mappings
MAX_NUMBER = 100  # characters of a number
PLAIN = ("null", "bool", "int", "float", "str", "seq", "map", "merge")


class _Refused(yaml.MarkedYAMLError):
    def __init__(self, problem: str, node: Node | yaml.Event) -> None:
        mark: Any = node.start_mark
        super().__init__(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with limits, without tags for dates, sets and bytes, and without repeated keys."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self._depth >= MAX_DEPTH:
            raise _Refused(f"more than {MAX_DEPTH} levels of lists and mappings", self._next())
        alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        try:
            node = super().compose_node(parent, index)
        finally:
            self._depth -= 1
        if not alias:
            self._sizes[id(node)] = self._size(node)
        elif id(node) not in self._sizes:  # a node has a size only when it is complete
            raise _Refused("an alias that stands for a part of itself", self._next())
        return node

    def _next(self) -> yaml.Event:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        return event

    def _size(self, node: Node | None) -> int:
        """Number of values of a node. Values behind aliases are counted each time."""
        if not isinstance(node, SequenceNode | MappingNode):
            return 1
        children = node.value if isinstance(node, SequenceNode) else [part for pair in node.value for part in pair]
        total = 1 + sum(self._sizes[id(child)] for child in children)
        if total > MAX_VALUES:
            raise _Refused(f"more than {MAX_VALUES:,} values, counting what aliases stand for", node)
        return total

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind not in PLAIN:
            raise _Refused(f"the tag {shown(node.tag)}, where only plain values are read", node)
        if isinstance(node, ScalarNode):
            if kind in ("int", "float") and len(node.value) > MAX_NUMBER:
                raise _Refused(f"a number of {len(node.value):,} characters", node)
            _check_characters(node)
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise _Refused(f"{shown(node.value)}, which cannot be read as {kind}", node) from error

    def construct_mapping(self, node: Node, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, MappingNode):
            raise _Refused(f"{shown(node.value)}, where `key: value` lines are needed", node)
        self._refuse_repeated_keys(node)
        return super().construct_mapping(node, deep)

    def _refuse_repeated_keys(self, node: MappingNode) -> None:
        # PyYAML silently keeps the last of equal keys. Only written keys are checked: keys from `<<` may be replaced.
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, ScalarNode):
                if (key.tag, key.value) in seen:
                    raise _Refused(f"the key {shown(key.value)} a second time", key)
                seen.add((key.tag, key.value))


# Dates stay strings: recipes have no dates, and 2024-13-45 may be the name of a label.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _check_characters(node: ScalarNode) -> None:
    try:
        node.value.encode()
    except UnicodeEncodeError as error:
        raise _Refused("half of a surrogate pair, which is not a character", node) from error
    if "\0" in node.value:
        raise _Refused("a NUL character", node)


def parse_yaml(text: str, name: str) -> Any:
    """The values of a YAML document: None, bool, int, float, str, list and dict, as a tree of at most MAX_VALUES.

    name: of the text, in messages. AlloyError, with line and column, for invalid YAML, tags for other types, repeated keys,
    aliases that multiply values beyond the limit, too many levels, and characters that are not text.
    """
    if len(text) > MAX_BYTES:
        raise AlloyError(expected=f"at most {MAX_BYTES:,} characters of YAML in {name}", got=f"{len(text):,}")
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        except (ValueError, ArithmeticError) as error:  # PyYAML's scanner gives any number after \U to chr()
            raise MarkedYAMLError(
                problem="an escape of a character that does not exist", problem_mark=loader.get_mark()
            ) from error
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        hint = "Check indentation, brackets and colons." if not isinstance(error, _Refused | ConstructorError) else ""
        raise AlloyError(expected=f"YAML in {name}", got=f"{problem}{where}", hint=hint) from error


def yaml_on_one_line(value: Any) -> str:
    """A value as YAML on one line, with quotes where they are needed. Invisible characters are escaped."""
    plain = yaml.safe_dump([value], default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    if visible(plain.rstrip("\n")) != plain.rstrip("\n"):
        plain = yaml.safe_dump(
            [value], default_flow_style=True, width=float("inf"), default_style='"', sort_keys=False
        )  # fmt: skip
    return plain.strip()[1:-1]


def read_yaml(path: Path) -> Any:
    """`parse_yaml` of a file. AlloyError also if it cannot be read, is too large or is not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise AlloyError(expected=f"at most {MAX_BYTES:,} bytes of YAML in {path}", got="more")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"the byte 0x{error.object[error.start]:02x} ({error.reason})"
        raise AlloyError(expected=f"UTF-8 text in {path}", got=got, hint="Save it as UTF-8.") from error
    except OSError as error:
        raise AlloyError(expected=f"a readable file '{path}'", got=f"'{error.strerror or error}'") from error
    return parse_yaml(text, str(path))
