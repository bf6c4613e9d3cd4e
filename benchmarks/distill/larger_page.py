"""The section of the students with 3,000 texts: beside those with 500, and against fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.distill import larger, rlkd4
from benchmarks.distill.methods import TITLES
from benchmarks.harness.sections import Cells, cells_of
from benchmarks.harness.summary import Part, corrected, points, rows, spread
from benchmarks.harness.table import Table

FT, ENSEMBLE = "supervised", "u_ensemble"
NAMES = TITLES | {
    "mt_bert": "MT-BERT",
    "supervised-own_rate": "FT, alloykit's learning rate",
    "supervised-own_rate_and_epochs": "FT, alloykit's learning rate and epochs",
    "vanilla_kd-others": "Vanilla KD, 3,000 other texts without labels",
    "vanilla_kd-many_others": "Vanilla KD, 15,000 other texts without labels",
    "supervised-own_epochs": "FT, alloykit's number of epochs",
    "u_ensemble-own_epochs": "U-Ensemble, alloykit's number of epochs",
    "vanilla_kd-own_epochs-others": "Vanilla KD, 3,000 other texts without labels, alloykit's number of epochs",
    "vanilla_kd-thirty_epochs-others": "Vanilla KD, 3,000 other texts without labels, 30 epochs",
}
Parts = Mapping[str, Part]
five = partial(spread, usual=5)


def body(table: Table, cells: Cells) -> list[str]:
    told = "Students of two layers. In brackets: with 500 texts, from RL-KD's tables below, where RoBERTa is a teacher too."
    before = cells_of(rlkd4.TABLE)
    now, smaller = ({name: Part(found, name, "shared") for name in larger.DATA} for found in (cells, before))
    return tables(table, now, smaller, told, tuple(larger.SMALL_STUDENT), tuple(larger.DEEP_STUDENT), five)


def tables(
    table: Table, parts: Parts, beside: Parts, told: str, small: Sequence[str], deep: Sequence[str], show: partial[str]
) -> list[str]:
    """Teachers; students of two layers (`small`; in brackets those of `beside`, as `told` says); of six layers (`deep`); each minus fine-tuning.

    parts, beside: by setting. show: how the values of some seeds are written.
    """
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


def _less(methods: Sequence[str], rival: str, parts: Parts) -> list[list[str]]:
    """A row for each method; Holm's correction is over the tasks of a row."""
    layers = "six layers" if rival.endswith("-six") else "two layers"
    body = []
    for method in (name for name in methods if name != rival):
        found = {task: less[rival] for task, part in parts.items() if rival in (less := part.compare(method, [rival]))}
        told = dict(zip(found, map(points, corrected(list(found.values()))), strict=True))
        body.append([layers, NAMES[method.removesuffix("-six")], *(told.get(task, "–") for task in parts)])
    return body
