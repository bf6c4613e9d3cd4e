"""The README is short, and its figures are those of the results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import GUIDE, README, RESULTS

NAMES = {  # rows of the table, and how the results call them
    "Vanilla KD": "Vanilla KD",
    "UHC": "UHC",
    "MUKA-Soft": "MUKA-Soft (K = 8)",
    "Largest logit": "Largest logit",
    "Largest energy": "Energy",
    "Alloy": "Alloy",
    "oracle routing": "Oracle routing",
}
TABLE = "### Students, pool: disjoint"
DOCUMENTS = [README, next(p for p in GUIDE if p.stem == "when-to-use-it")]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def results(name: str) -> str:
    """A page of results."""
    return next(p for p in RESULTS if p.stem == name).read_text(encoding="utf-8")


def measured(page: str) -> dict[tuple[str, str], float]:
    """Accuracy by method and set, of texts that no teacher has seen."""
    table = page.split(TABLE)[1].split("| accuracy / balanced accuracy, % ")[1].split("\n\n")[0].splitlines()
    methods = cells("|x" + table[0])[1:]
    return {
        (method, row[0]): float(found[0])
        for row in map(cells, table[2:])
        for method, cell in zip(methods, row[1:], strict=True)
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


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: p.name)
def test_accuracies_are_those_of_the_results(page: Path) -> None:
    known, figures = measured(results("alloy_details")), told(page)
    assert figures == {key: known.get(key) for key in figures}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_the_claim_in_one_sentence_is_that_of_the_results(document: Path) -> None:
    """On average so many points above the best rival, as the results say it of one of their groups of sets."""
    pages = results("alloy") + results("alloy_details")
    claimed = re.findall(r"on average ([\d.]+)\s+points", document.read_text(encoding="utf-8"))
    assert claimed
    assert set(claimed) <= set(re.findall(r"Alloy is on average ([\d.]+) points above the best rival", pages))


def test_the_lowest_difference_in_the_readme_is_that_of_the_results() -> None:
    """How many cases of students there are, in how many Alloy is at most 0.5 points below, and the lowest difference."""
    page = results("alloy")
    [(near, cases)] = re.findall(r"In (\d+) of (\d+) cases its balanced accuracy", page)
    [lowest] = re.findall(r"^\| \*mean, all sets\* .* −([\d.]+) \([^|]*\) \|$", page, re.MULTILINE)
    [accuracy] = re.findall(r"the lowest difference is −([\d.]+) ", page)
    readme = " ".join(README.read_text(encoding="utf-8").split())
    assert f"students in {cases} cases" in readme
    told = f"In {near} of the {cases} cases its balanced accuracy is above that of every rival, or at most 0.5 points below the highest one"
    assert told in readme
    assert f"it is {lowest} points below, and its accuracy {float(accuracy):.0f} points" in readme


def test_the_means_by_kind_of_set_are_those_of_the_results() -> None:
    """Cases, best rival, Alloy, the difference and the lowest difference in balanced accuracy."""
    page = results("alloy").split("## What the words mean")[0].splitlines()
    known = {}
    for row in (cells(line) for line in page if line.startswith("| *mean, ") and "all sets" not in line):
        _, _, number, rival, ours, _, gained, _, lowest = row
        known[row[0].strip("*").removeprefix("mean, ")] = [number, rival, ours, gained, lowest.split(" (")[0]]
    lines = README.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| Kind of set "))
    rows = [cells(line) for line in lines[start + 2 : start + 2 + len(known)]]
    assert len(known) == 3
    assert {row[0].split(":")[0].split(",")[0]: row[1:] for row in rows} == known
