"""No page and no example has a place that was to be filled in later."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT

PLACEHOLDER = re.compile(r"\b(XXX+|TODO|FIXME|TBD)\b")
EXAMPLES = sorted(path for kind in ("py", "ipynb") for path in (ROOT / "examples").rglob(f"*.{kind}"))


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_left_to_fill_in(path: Path) -> None:
    assert PLACEHOLDER.findall(path.read_text(encoding="utf-8")) == []


def test_a_placeholder_is_found() -> None:
    assert PLACEHOLDER.findall("learns from all XXX of them") == ["XXX"]
