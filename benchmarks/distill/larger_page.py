"""The section of the students with 3,000 texts: beside those with 500, and against fine-tuning."""

from __future__ import annotations

from functools import partial

from benchmarks.distill import larger, rlkd4
from benchmarks.distill.methods import TITLES
from benchmarks.harness.sections import Cells, cells_of
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import Part, corrected, points, rows, spread
from benchmarks.harness.table import Table

FT, ENSEMBLE = "supervised", "u_ensemble"
NAMES = TITLES | {
    "mt_bert": "MT-BERT",
    "supervised-own_rate": "FT, alloykit's learning rate",
    "supervised-own_rate_and_epochs": "FT, alloykit's learning rate and epochs",
}
five = partial(spread, usual=5)


def body(table: Table, cells: Cells) -> list[str]:
    before = cells_of(rlkd4.TABLE)
    parts = {name: Part(cells, name, "shared") for name in larger.DATA}
    smaller = {name: Part(before, name, "shared") for name in larger.DATA}
    titles = [SETS[name].title for name in larger.DATA]
    return [
        "Teachers, and their ensemble without a student:",
        "",
        *rows(["accuracy, %", *titles], [*_teachers(parts), _row("U-Ensemble", f"routing-{ENSEMBLE}", parts)]),
        "Students of two layers. In brackets: with 500 texts, from RL-KD's tables below, where RoBERTa is a teacher too.",
        "",
        *rows(["accuracy, %", *titles], [_beside(name, parts, smaller) for name in larger.SMALL_STUDENT]),
        "Students of six layers:",
        "",
        *rows(
            ["accuracy, %", *titles],
            [_row(NAMES[name.removesuffix("-six")], name, parts) for name in larger.DEEP_STUDENT],
        ),
        f"Minus {TITLES[FT]} of the same number of layers, in points (Holm's correction is within each row):",
        "",
        *rows(["", "", *titles], [*_less(larger.SMALL_STUDENT, FT, parts), *_less(larger.DEEP_STUDENT, f"{FT}-six", parts)]),
    ]  # fmt: skip


def _teachers(parts: dict[str, Part]) -> list[list[str]]:
    return [
        [f"teacher {encoder}", *(five(p.values("teachers", "teachers", f"teacher{i + 1}", "accuracy")) for p in parts.values())]
        for i, encoder in enumerate(larger.THREE)
    ]  # fmt: skip


def _row(title: str, method: str, parts: dict[str, Part]) -> list[str]:
    return [title, *(five(part.values(method, "accuracy")) for part in parts.values())]


def _beside(method: str, parts: dict[str, Part], smaller: dict[str, Part]) -> list[str]:
    found = _row(NAMES[method], method, parts)
    before = _row(NAMES[method], method, smaller)
    return [found[0], *(f"{new} [{old}]" for new, old in zip(found[1:], before[1:], strict=True))]


def _less(methods: larger.Methods, rival: str, parts: dict[str, Part]) -> list[list[str]]:
    """A row for each method; Holm's correction is over the tasks of a row."""
    layers = "six layers" if rival.endswith("-six") else "two layers"
    body = []
    for method in (name for name in methods if name != rival):
        found = {task: less[rival] for task, part in parts.items() if rival in (less := part.compare(method, [rival]))}
        told = dict(zip(found, map(points, corrected(list(found.values()))), strict=True))
        body.append([layers, NAMES[method.removesuffix("-six")], *(told.get(task, "–") for task in parts)])
    return body
