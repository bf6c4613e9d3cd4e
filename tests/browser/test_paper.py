"""Reports on paper, as a browser prints them."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import browse, needs_browser
from htmltree import Node, parse, rows

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def printed(pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("printed")

    @functools.cache
    def paper(name: str) -> Path:
        path = folder / f"{name}.pdf"
        seen = browse(folder / "profile", "--no-pdf-header-footer", f"--print-to-pdf={path}", pages[name].as_uri())
        assert seen.console == []
        return path

    return paper


@pytest.mark.parametrize("name", ["tested", "comparison"])
def test_it_takes_a_few_sheets(printed: Callable[[str], Path], name: str) -> None:
    content = printed(name).read_bytes()
    assert content.startswith(b"%PDF-")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 12


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext on PATH")
@pytest.mark.parametrize("name", ["tested", "comparison"])
def test_no_column_is_cut_off_on_paper(pages: dict[str, Path], printed: Callable[[str], Path], name: str) -> None:
    """There nobody can scroll a table."""
    read = subprocess.run(["pdftotext", printed(name), "-"], capture_output=True, check=True, text=True)
    whole = parse(pages[name].read_text(encoding="utf-8"))
    tables = [
        node.one("table")
        for node in whole.one("main").children
        if isinstance(node, Node) and node.tag == "div" and node.attributes["class"] == "scroll"
    ]
    wanted = {word for table in tables for head in rows(table)[0] for word in head.split()}
    assert len(wanted) > 10
    printed_text = re.sub(r"[\s-]", "", read.stdout)  # a heading may be broken at its hyphen
    assert [word for word in wanted if word.replace("-", "") not in printed_text] == []
