"""Every public name of the package means one thing: no two modules define a function, a class or a type of the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import parsed

import alloykit

ROOT = Path(alloykit.__file__).parent
SAME = ("cli/main.py", "commands/", "demo/run.py")  # a command has one name on every way to its work


def defined(tree: ast.Module) -> Iterator[str]:
    """The public functions, classes, type aliases and type variables of a module. Constants belong to their module."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name) and not target.id.isupper()]
        else:
            continue
        yield from (name for name in names if not name.startswith("_"))


def repeated(sources: dict[str, str]) -> dict[str, list[str]]:
    places = defaultdict(list)
    for path, source in sources.items():
        if not path.startswith(SAME):
            for name in set(defined(parsed(source))):
                places[name].append(path)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_a_public_name_is_defined_once() -> None:
    files = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in sorted(ROOT.rglob("*.py"))}
    assert len(files) > 200
    assert repeated(files) == {}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("def name(): ...", "class name: ...", ["name"]),
        ("Kind = int | str", "Kind: TypeAlias = str", ["Kind"]),
        ("_name = 1\nSIZE = 2", "def _name(): ...\nSIZE = 3", []),
    ],
)
def test_a_repeated_name_is_found(first: str, second: str, found: list[str]) -> None:
    assert list(repeated({"a.py": first, "b.py": second})) == found
    assert not repeated({"a.py": first, "commands/b.py": second})
