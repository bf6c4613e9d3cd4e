"""The pages of the documentation, as Markdown: their snippets, links and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
WRITTEN = sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "results")
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
PROJECT = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]
PAGES = [*PROJECT, *WRITTEN, *RESULTS]


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its page, the line where it begins, its language and its text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def snippets(*languages: str, pages: list[Path] | None = None) -> list[Snippet]:
    """All fenced blocks in these languages of the README, the guide and the methods' pages."""
    chosen = pages or [README, *(p for p in WRITTEN if p.parent.name != "dev")]
    found = []
    for page in chosen:
        for token in tokens(page):
            if token.type == "fence" and token.info in languages and token.map is not None:
                found.append(Snippet(page, token.map[0] + 1, token.info, token.content))
    return found


def links(page: Path) -> Iterator[str]:
    """Targets of all links and images."""
    for token in tokens(page):
        for inner in token.children or []:
            target = inner.attrGet("href") or inner.attrGet("src")
            if target:
                yield str(target)


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as code hosts and MyST make them."""
    found: set[str] = set()
    parts = tokens(page)
    for token, inline in pairwise(parts):
        if token.type == "heading_open":
            plain = re.sub(r"[^\w\- ]", "", inline.content.lower()).strip().replace(" ", "-")
            n = 0
            while (name := plain if not n else f"{plain}-{n}") in found:
                n += 1
            found.add(name)
    return found
