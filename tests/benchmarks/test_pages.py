"""The committed pages are those of the committed results: a page that cannot be written, or was not written anew, is found here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.harness import pictures


@pytest.mark.parametrize("paper", ["muka", "stratanet", "distill", "speed", "alloy", "significance"])
def test_committed_results_make_the_committed_page(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = import_module(f"benchmarks.{paper}.page")
    committed = (page.RESULTS / f"{paper}.md").read_text(encoding="utf-8")
    (tmp_path / paper).mkdir()  # for pictures
    monkeypatch.setattr(page, "write_atomic", lambda path, text: (tmp_path / path.name).write_text(text, "utf-8"))
    monkeypatch.setattr(pictures, "RESULTS", tmp_path)
    page.write()
    written = (tmp_path / f"{paper}.md").read_text(encoding="utf-8")
    assert written == committed
    committed_files = {p.name for p in (page.RESULTS / paper).glob("*")}
    assert {p.name for p in (tmp_path / paper).iterdir()} <= committed_files
