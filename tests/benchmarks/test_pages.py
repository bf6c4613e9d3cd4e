"""The committed pages are those of the committed results: a page that cannot be written, or was not written anew, is found here."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.harness import plots
from benchmarks.harness.results import RESULTS, load, written

INTERVAL = re.compile(r"[(,] ?([+−]\d+\.\d) to ([+−]\d+\.\d)")


@pytest.mark.parametrize(
    "paper",
    [
        "muka",
        "stratanet",
        "distill",
        "speed",
        "alloy",
        "significance",
        "defaults",
        "faults",
        "long_texts",
        "scale",
        "export",
    ],
)
def test_committed_results_make_the_committed_page(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = import_module(f"benchmarks.{paper}.page")
    committed = (page.RESULTS / f"{paper}.md").read_text(encoding="utf-8")
    (tmp_path / paper).mkdir()  # for figures
    monkeypatch.setattr(page, "write_atomic", lambda path, text: (tmp_path / path.name).write_text(text, "utf-8"))
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    page.write()
    written = (tmp_path / f"{paper}.md").read_text(encoding="utf-8")
    assert written == committed
    committed_files = {p.name for p in (page.RESULTS / paper).glob("*")}
    assert {p.name for p in (tmp_path / paper).iterdir()} <= committed_files


@pytest.mark.parametrize("paper", ["muka", "stratanet", "distill", "alloy"])
def test_committed_results_are_as_the_harness_writes_them(paper: str) -> None:
    for path in sorted((RESULTS / paper).glob("*.json")):
        if "cells" in (found := load(path)):
            assert path.read_text(encoding="utf-8") == written(found), path.name


@pytest.mark.parametrize("paper", ["muka", "stratanet", "distill", "alloy"])
def test_intervals_in_the_notes_are_of_the_tables(paper: str) -> None:
    """What was written by hand does not keep an interval that the tables no longer have (or have the other way round)."""
    page = import_module(f"benchmarks.{paper}.page")
    lines = (page.RESULTS / f"{paper}.md").read_text(encoding="utf-8").splitlines()
    there = set(INTERVAL.findall("\n".join(line for line in lines if line.startswith("|"))))
    there |= {(swapped(high), swapped(low)) for low, high in there}
    notes = {note.name: note.read_text(encoding="utf-8") for note in page.NOTES.glob("*.md")}
    quoted = {(name, found) for name, text in notes.items() for found in INTERVAL.findall(" ".join(text.split()))}
    assert {(name, " to ".join(found)) for name, found in quoted if found not in there} == set()


def swapped(number: str) -> str:
    return {"+": "−", "−": "+"}[number[0]] + number[1:]
