"""benchmarks/README.md: its links lead somewhere, its table can be run, and the command line shows every table."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from alloykit.methods.registry import create
from benchmarks.__main__ import TABLES, tables
from benchmarks.harness.table import Table

ROOT = Path(benchmarks.__path__[0])


@pytest.mark.parametrize("page", ["README.md", "DATA.md"])
def test_links_lead_to_files(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert {link for link in links if not (ROOT / link).is_file()} == set()


def test_its_table_is_a_table() -> None:
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    [snippet] = [code for code in snippets if "TABLE = " in code]
    names: dict[str, Any] = {}
    exec("\n".join(line.removeprefix("   ") for line in snippet.splitlines()), names)
    table: Table = names["TABLE"]
    assert [cell.key for cell in table.cells(seed=[0])] == [f"ag_news/shared/0/{m}" for m in names["METHODS"]]
    for name in set(names["METHODS"]) - {"teachers"}:
        assert create(names["METHODS"][name]).needs.passes == table.passes == 0


def test_help_shows_every_table_and_every_table_exists() -> None:
    lines = [line.split() for line in tables().splitlines() if line.startswith("  ")]
    assert [line[0] for line in lines] == [name for group in TABLES.values() for name in group]
    for paper, group in TABLES.items():
        for name in group:
            assert hasattr(import_module(f"benchmarks.{paper}.{name}"), "TABLE")
