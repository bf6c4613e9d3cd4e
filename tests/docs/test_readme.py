"""The README is short, and its figures are those of the results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import GUIDE, README, RESULTS

NAMES = {
    "Vanilla KD": "Vanilla KD",
    "MUKA-Soft": "MUKA-Soft",
    "Alloy": "Alloy",
    "trained with true labels": "Supervised",
}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured() -> dict[tuple[str, str], float]:
    """Accuracy by method and set, of the results' table of texts that no teacher has seen."""
    page = next(p for p in RESULTS if p.stem == "alloy").read_text(encoding="utf-8")
    table = page.split("### Students, pool: disjoint")[1].split("| accuracy, % ")[1].split("\n\n")[0].splitlines()
    sets = cells("|x" + table[0])[1:]
    return {
        (row[0], name): float(found[0])
        for row in map(cells, table[2:])
        for name, cell in zip(sets, row[1:], strict=True)
        if (found := re.match(r"[\d.]+", cell))
    }


def told(page: Path) -> dict[tuple[str, str], float]:
    """Accuracy by method and set in a page's table."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|") and "AG News" in line)
    sets = cells(lines[start])[1:]
    rows = [cells(line) for line in lines[start + 2 : start + 2 + len(NAMES)]]
    return {
        (NAMES[row[0].split(" (")[0]], name): float(cell.strip("*"))
        for row in rows
        for name, cell in zip(sets, row[1:], strict=True)
    }


def test_the_readme_has_at_most_120_lines() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", [README, next(p for p in GUIDE if p.stem == "when-to-use-it")], ids=lambda p: p.name)
def test_accuracies_are_those_of_the_results(page: Path) -> None:
    known, figures = measured(), told(page)
    assert len(figures) == 20
    assert figures == {key: known[key] for key in figures}


def test_the_claim_in_one_sentence_is_that_of_the_results() -> None:
    page = next(p for p in RESULTS if p.stem == "alloy").read_text(encoding="utf-8")
    points = re.search(r"Alloy's students are ([\d.]+) points above MUKA-Soft's on average", page)
    assert points is not None
    for document in (README, next(p for p in GUIDE if p.stem == "when-to-use-it")):
        assert f"{points[1]}\npoints" in (text := document.read_text(encoding="utf-8")) or f"{points[1]} points" in text
