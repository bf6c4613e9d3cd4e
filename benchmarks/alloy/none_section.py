"""The parts of the pages about `none of these`: the means over the sets, and every set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alloy import none
from benchmarks.alloy.not_run import not_run
from benchmarks.alloy.settings import CHOICE, set_of
from benchmarks.harness.sections import cells_of, made, note
from benchmarks.harness.summary import rows

SCORES = {"max_probability": "max. probability", "energy": "energy", "none_of_these": "none of these"}
TRIED = {"distance": "distance", "distance + energy": "distance + energy",
         "relative": "relative distance", "relative + energy": "relative distance + energy"}  # fmt: skip
KINDS = {"foreign": "foreign", "held_out": "held-out label"}
WORDS = (
    "Students of Alloy whose teachers do not know the last tenth of the set's labels (at least one label). AUROC: the probability that a text that no teacher knows has a "
    "higher score than a test text of a known label; 0.5 is chance. Foreign: Wikipedia sentences. Held-out label: test texts of the labels that no teacher knows."
)
LAST = (
    "Last columns: texts with a score of at least 0.95 in `predict --none-of-these`; of test texts 5 % should have one."
)


def none_means() -> list[str]:
    """AUROC of each score, the mean over the sets, for each pool."""
    cells, body = _done(), []
    for pool in none.TABLE.grid:
        found = [of for s in none.TABLE.settings if (of := _of(cells, s.name, pool))]
        if found:
            means = np.mean([_auroc(of, SCORES) for of in found], 0)
            body.append([pool, len(found), *(f"{mean:.3f}" for mean in means)])
    headings = ["pool", "sets", *(f"{kind}: {title}" for kind in KINDS.values() for title in SCORES.values())]
    return ["## None of these", "", WORDS, "", *(rows(headings, body) if body else ["Not run yet.", ""])]


def none_section(notes: Path) -> list[str]:
    """Every set."""
    cells = _done()
    lines = ["## None of these", "", f"{WORDS} {LAST}", ""]
    if not cells:
        return [*lines, "Not run yet.", ""]
    lines += [*note(notes, "none"), *made(none.TABLE, cells)]
    for pool in none.TABLE.grid:
        found = [(s, _of(cells, s.name, pool)) for s in none.TABLE.settings]
        found = [(s, of) for s, of in found if of]
        if not found:
            continue
        lines += [f"### None of these, pool: {pool}", ""]
        titles = [s.title + (", set of the choice" if set_of(s) in CHOICE else "") for s, _ in found]
        lines += _table(titles, [of for _, of in found], SCORES, shares=True)
        lines += ["Tried, and not used:", "", *_table(titles, [of for _, of in found], TRIED, shares=False)]
    return [*lines, *not_run(none.TABLE, cells_of(none.TABLE))]


def _done() -> dict[str, Any]:
    return {key: cell for key, cell in cells_of(none.TABLE).items() if cell["status"] == "done"}


def _of(cells: dict[str, Any], setting: str, pool: str) -> list[dict[str, Any]]:
    """The setting's finished cells, one for each seed."""
    return [cell for key, cell in cells.items() if key.startswith(f"{setting}/{pool}/")]


def _table(
    titles: Sequence[str], found: Sequence[list[dict[str, Any]]], scores: dict[str, str], *, shares: bool
) -> list[str]:
    headings = ["", "seeds", *(f"{kind}: {title}" for kind in KINDS.values() for title in scores.values())]
    headings += ["≥ 0.95: test", *(f"≥ 0.95: {kind}" for kind in KINDS.values())] if shares else []
    body = []
    for title, cells in zip(titles, found, strict=True):
        row: list[Any] = [title, len(cells), *(f"{mean:.3f}" for mean in _auroc(cells, scores))]
        if shares:
            row += [f"{100 * np.mean([c['unusual'][name] for c in cells]):.1f} %" for name in ("test", *KINDS)]
        body.append(row)
    return rows(headings, body)


def _auroc(cells: Sequence[dict[str, Any]], scores: dict[str, str]) -> list[float]:
    """Mean of each score, first for foreign texts, then for held-out labels."""
    return [float(np.mean([c["auroc"][name][kind] for c in cells])) for kind in KINDS for name in scores]
