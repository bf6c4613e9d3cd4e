"""The sections that a method brings, with every part as the page shows it. Nothing here knows a method by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text
from alloykit.reporting import figures
from alloykit.reporting.figures import Figure, percent

FOLDED = 300  # characters; of a longer text the page shows only the first sentence, and folds the rest
LONG_CELL = 24  # characters; longer cells break into lines


@dataclass(frozen=True)
class TableShown:
    """A table whose cells are text. classes: position of a column of words → its class in the style sheet."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    classes: Mapping[int, str]


@dataclass(frozen=True)
class PartShown:
    """One part of a section: a text, a table or a figure. more: the rest of a long text, which the page folds."""

    text: str | None = None
    more: str | None = None
    table: TableShown | None = None
    figure: Figure | None = None


@dataclass(frozen=True)
class MethodSection:
    """A section as its method titled it."""

    title: str
    parts: list[PartShown]


def method_sections(run: Mapping[str, Any]) -> list[MethodSection]:
    """The sections about the fit, then those about the training. run: as `page.load` gives it."""
    reports = [run["metrics"].get("fit"), run["training"].get("report")]
    found: list[Section] = [s for report in reports if report for s in MethodReport.model_validate(report).sections]
    return [
        MethodSection(s.title, [_shown(part, f"method-{i}-{k}") for k, part in enumerate(s.parts)])
        for i, s in enumerate(found)
    ]


def _shown(part: Text | Table | Series, name: str) -> PartShown:
    if isinstance(part, Text):
        if len(part.text) <= FOLDED:
            return PartShown(text=part.text)
        first, *rest = re.split(r"(?<=[.:?!])\s+(?=[A-Z])", part.text, maxsplit=1)
        return PartShown(text=first, more=rest[0] if rest else None)
    if isinstance(part, Table):
        rows = [
            [_cell(cell, column in part.percent) for column, cell in zip(part.columns, row, strict=True)]
            for row in part.rows
        ]
        return PartShown(table=TableShown(part.caption, part.columns, rows, _classes(part)))
    return PartShown(figure=_figure(part, name))


def _classes(table: Table) -> dict[int, str]:
    """Columns of words are on the left, and those with long cells break into lines."""
    cells = {i: [cell for row in table.rows if isinstance(cell := row[i], str)] for i in range(1, len(table.columns))}
    longest = {i: max(map(len, words)) for i, words in cells.items() if words}
    return {i: "words" if length > LONG_CELL else "left" for i, length in longest.items()}


def _figure(part: Series, name: str) -> Figure:
    keys = {f"line {k}": line for k, line in enumerate(part.lines)}
    whole = all(point.is_integer() for point in part.points)
    history = [
        {"point": int(point) if whole else point} | {key: part.lines[line][n] for key, line in keys.items()}
        for n, point in enumerate(part.points)
    ]
    return figures.lines(name, history, keys, part.caption, part.y, shares=part.percent, over="point", xlabel=part.x)


def _cell(value: Any, share: bool) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if share:
        return percent(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
