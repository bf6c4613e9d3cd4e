"""Every command `python -m benchmarks …` of a page names tables that exist."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest
from pages import PAGES

from benchmarks.__main__ import TABLES

COMMAND = re.compile(r"python -m benchmarks ([a-z]\w*)((?: [\w-]+)*)")


def unknown(text: str) -> list[str]:
    """The commands with a group or a table that does not exist."""
    found = []
    for paper, rest in COMMAND.findall(text):
        named = takewhile(lambda word: not word.startswith("-"), rest.split())
        if paper not in TABLES or set(named) - set(TABLES[paper]):
            found.append(f"{paper}{rest}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_name_tables_that_exist(page: Path) -> None:
    assert unknown(page.read_text(encoding="utf-8")) == []


def test_a_table_that_does_not_exist_is_found() -> None:
    text = "`python -m benchmarks muka curve` and `python -m benchmarks muka curve-1000`, `python -m benchmarks mukka`"
    assert unknown(text) == ["muka curve-1000", "mukka"]
