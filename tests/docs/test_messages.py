"""The guide's troubleshooting page quotes messages as they are in the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pages import ROOT
from sources import parsed

import alloykit

PAGE = ROOT / "docs" / "guide" / "troubleshooting.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
QUOTED = ROW.findall(PAGE.read_text(encoding="utf-8"))


def strings(tree: ast.AST) -> list[str]:
    """All strings of a source, as they would be printed, `…` for what is put in."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


@pytest.fixture(scope="module")
def said() -> list[str]:
    files = Path(alloykit.__file__).parent.rglob("*.py")
    return [s for file in files for s in strings(parsed(file))]


def test_the_page_quotes_messages() -> None:
    assert len(QUOTED) > 35


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_in_the_code(quoted: str, said: list[str]) -> None:
    parts = [part for part in quoted.split("…") if part]
    assert max(map(len, parts)) >= 5
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    assert any(pattern.search(s) for s in said), f"no message of alloykit says '{quoted}'"
