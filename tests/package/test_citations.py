"""Whoever installs the wheel has no other file of the repository: nothing in the package sends them to one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import alloykit

PACKAGE = Path(alloykit.__file__).parent
SOURCES = sorted(p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".j2", ".md", ".css", ".html"))
FILE = re.compile(r"(?<![\w./-])((?:[\w-]+/)+[\w-]+\.(?:py|md|html|css)(?:\.j2)?|\w+\.md(?:\.j2)?)\b")
FOLDER = re.compile(r"(?<![\w./-])((?:docs|tests|benchmarks|recipes|examples|shared)/[\w./-]*)")
WRITTEN = {"README.md", "student/README.md"}  # by alloykit itself, beside the student


def citations(text: str) -> set[str]:
    return {found.rstrip(".") for pattern in (FILE, FOLDER) for found in pattern.findall(text)} - WRITTEN


def test_what_counts_as_a_citation() -> None:
    text = "see docs/speed.md, methods.md, (knowledge/online/online_source.py) and recipes/muka. `README.md` https://example.org/a/b.md"
    assert citations(text) == {"docs/speed.md", "methods.md", "knowledge/online/online_source.py", "recipes/muka"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_of_the_package_cites_only_files_of_the_package(path: Path) -> None:
    missing = {
        name
        for name in citations(path.read_text(encoding="utf-8"))
        if not any((f / name).exists() for f in (PACKAGE, path.parent, path.parent / "templates"))
    }
    assert not missing, f"{path.relative_to(PACKAGE)} cites {missing}"
