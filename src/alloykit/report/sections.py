"""A method's own sections, as the page shows them: every part by its kind, none by the method's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text
from alloykit.report import figures
from alloykit.report.figures import Picture, percent


def sections(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """title and parts of every section that the method told of its fit and its training. A part has `text`, `table` or `picture`."""
    told = [run["metrics"].get("fit"), run["training"].get("report")]
    found = [s for report in told if report for s in MethodReport.model_validate(report).sections]
    return [
        {"title": s.title, "parts": [_shown(part, f"method-{i}-{k}") for k, part in enumerate(s.parts)]}
        for i, s in enumerate(found)
    ]


def _shown(part: Section | Text | Table | Series, name: str) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Table):
        rows = [
            [_cell(cell, column in part.percent) for column, cell in zip(part.columns, row, strict=True)]
            for row in part.rows
        ]
        return {"table": {"caption": part.caption, "headings": part.columns, "rows": rows}}
    assert isinstance(part, Series)
    return {"picture": _drawn(part, name)}


def _drawn(part: Series, name: str) -> Picture:
    keys = {f"line {k}": line for k, line in enumerate(part.lines)}
    whole = all(point.is_integer() for point in part.points)
    history = [
        {"point": int(point) if whole else point} | {key: part.lines[line][n] for key, line in keys.items()}
        for n, point in enumerate(part.points)
    ]
    return figures.course(name, history, keys, part.caption, part.y, shares=part.percent, over="point", xlabel=part.x)


def _cell(value: Any, share: bool) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if share:
        return percent(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
