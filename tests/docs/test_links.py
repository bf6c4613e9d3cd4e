"""Every link of README, docs and results leads somewhere, and files that pages name are there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from pages import PAGES, ROOT, WRITTEN, anchors, links

NAMED = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|json|yaml)|\w+\.py)\b")
ROOMS = (
    ROOT,
    ROOT / "src" / "alloykit",
    ROOT / "src" / "alloykit" / "evaluation",
    ROOT / "src" / "alloykit" / "methods",
)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = unquote(target).partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            broken.append(target)
    assert not broken, f"{page.relative_to(ROOT)} links to {broken}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    there = {p.name for p in ROOMS[1].rglob("*.py")}  # a name alone is that of any file of the package
    missing = {n for n in named - there if "PAPER" not in n and not any((room / n).exists() for room in ROOMS)}
    assert not missing, f"{page.relative_to(ROOT)} names {missing}"


def test_every_page_can_be_reached() -> None:
    """From docs/index.md, by links or tables of contents."""
    index = ROOT / "docs" / "index.md"
    text = "".join(p.read_text(encoding="utf-8") for p in (index, index.parent / "methods" / "index.md"))
    for page in WRITTEN:
        name = page.relative_to(index.parent).with_suffix("")
        listed = str(name) in text or re.search(rf"^{name.name}$", text, re.MULTILINE)
        assert listed or name.parts[0] in ("dev", "index"), f"{name} is in no table of contents"


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")
    packages = {p.parent.name for p in ROOMS[1].glob("*/__init__.py")}
    assert not {name for name in packages if not re.search(rf"`{name}\b", text)}
