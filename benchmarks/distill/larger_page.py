"""The sections of the students with 3,000 texts: beside those of another table, and against fine-tuning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from benchmarks.distill import larger, own_rates, rlkd4
from benchmarks.distill.methods import TITLES, Methods
from benchmarks.harness.sections import Cells, cells_of
from benchmarks.harness.summary import Part, corrected, points, rows, spread
from benchmarks.harness.table import Table

FT, ENSEMBLE = "supervised", "u_ensemble"
NAMES = TITLES | {
    "mt_bert": "MT-BERT",
    "supervised-own_rate": "FT, alloykit's learning rate",
    "supervised-own_rate_and_epochs": "FT, alloykit's learning rate and epochs",
}
Parts = Mapping[str, Part]
five = partial(spread, usual=5)
three = partial(spread, usual=3)


def body(table: Table, cells: Cells) -> list[str]:
    """Of `larger`, beside RL-KD's tables."""
    told = "Students of two layers. In brackets: with 500 texts, from RL-KD's tables below, where RoBERTa is a teacher too."
    return _body(table, _parts(cells, larger.DATA), _parts(cells_of(rlkd4.TABLE), larger.DATA), told, larger.SMALL_STUDENT, larger.DEEP_STUDENT, five)  # fmt: skip


def own_rates_body(table: Table, cells: Cells) -> list[str]:
    """Of `own_rates`, beside `larger`. Only settings that have cells."""
    ran = [s for s in table.settings if any(key.startswith(f"{s.name}/") for key in cells)]
    before = cells_of(larger.TABLE)
    parts = {s.name: Part(cells, s.name, "shared") for s in ran}
    beside = {s.name: Part(before, s.datasets[0], "shared") for s in ran}
    told = "Students of two layers. In brackets: at 3e-4, from the table above, without MPNet-base."
    return _body(table, parts, beside, told, own_rates.TWO_LAYERS, own_rates.SIX_LAYERS, three)


def _parts(cells: Cells, names: Iterable[str]) -> dict[str, Part]:
    return {name: Part(cells, name, "shared") for name in names}


def _body(
    table: Table, parts: Parts, beside: Parts, told: str, small: Methods, deep: Methods, show: partial[str]
) -> list[str]:
    titles = [s.title for s in table.settings if s.name in parts]
    return [
        "Teachers, and their ensemble without a student:",
        "",
        *rows(["accuracy, %", *titles], [*_teachers(table, parts, show), _row("U-Ensemble", f"routing-{ENSEMBLE}", parts, show)]),
        told,
        "",
        *rows(["accuracy, %", *titles], [_beside(name, parts, beside, show) for name in small]),
        "Students of six layers:",
        "",
        *rows(
            ["accuracy, %", *titles],
            [_row(NAMES[name.removesuffix("-six")], name, parts, show) for name in deep],
        ),
        f"Minus {TITLES[FT]} of the same number of layers, in points (Holm's correction is within each row):",
        "",
        *rows(["", "", *titles], [*_less(small, FT, parts), *_less(deep, f"{FT}-six", parts)]),
    ]  # fmt: skip


def _teachers(table: Table, parts: Parts, show: partial[str]) -> list[list[str]]:
    """A row for each encoder; "–" where a setting has no such teacher."""
    plans = {s.name: [plan.encoder for plan in s.teachers] for s in table.settings if s.name in parts}
    return [
        [f"teacher {encoder}", *(_teacher(parts[name], encoder, has, show) for name, has in plans.items())]
        for encoder in dict.fromkeys(encoder for has in plans.values() for encoder in has)
    ]


def _teacher(part: Part, encoder: str, has: list[str], show: partial[str]) -> str:
    if encoder not in has:
        return "–"
    return show(part.values("teachers", "teachers", f"teacher{has.index(encoder) + 1}", "accuracy"))


def _row(title: str, method: str, parts: Parts, show: partial[str]) -> list[str]:
    return [title, *(show(part.values(method, "accuracy")) for part in parts.values())]


def _beside(method: str, parts: Parts, beside: Parts, show: partial[str]) -> list[str]:
    found = _row(NAMES[method], method, parts, show)
    before = _row(NAMES[method], method, beside, five)
    return [found[0], *(f"{new} [{old}]" for new, old in zip(found[1:], before[1:], strict=True))]


def _less(methods: Methods, rival: str, parts: Parts) -> list[list[str]]:
    """A row for each method; Holm's correction is over the tasks of a row."""
    layers = "six layers" if rival.endswith("-six") else "two layers"
    body = []
    for method in (name for name in methods if name != rival):
        found = {task: less[rival] for task, part in parts.items() if rival in (less := part.compare(method, [rival]))}
        told = dict(zip(found, map(points, corrected(list(found.values()))), strict=True))
        body.append([layers, NAMES[method.removesuffix("-six")], *(told.get(task, "–") for task in parts)])
    return body
