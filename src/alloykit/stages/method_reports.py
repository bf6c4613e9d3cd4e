"""Ask a method for what only the report shows. If the method fails here, only its part of the report is missing."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from torch import nn

from alloykit.data import Texts
from alloykit.methods.protocol import Context, Method
from alloykit.methods.report_sections import MethodReport, Part, Section, Table
from alloykit.stages.prepared import Prepared

ReportPart = TypeVar("ReportPart")


class TrainingOutcome(Protocol):
    """The result of training that reports need (`training.trainer.TrainingResult`)."""

    modules: nn.ModuleDict
    history: list[dict[str, Any]]


def attempt(method: Method, what: str, ask: Callable[[], ReportPart], warnings: list[str]) -> ReportPart | None:
    """The result of `ask`. If it raises: None, and a warning that names the method."""
    try:
        return ask()
    except Exception as error:  # an outside method may raise anything; the sweep and the student must not be lost
        frame = traceback.extract_tb(error.__traceback__)[-1]
        why = " ".join(str(error).split())[:500]
        warning = (
            f"method '{method.name}' could not give {what}, so the report is without it: {type(error).__name__}: {why} "
            f"({Path(frame.filename).name}, line {frame.lineno})"
        )
        if warning not in warnings:
            warnings.append(warning)
        return None


def fit_view(prepared: Prepared, context: Context) -> dict[str, Any]:
    """The method's report about its fit: `warnings` and `sections`, as JSON."""
    return _view(prepared, "its report on the fit", lambda: prepared.method.fit_report(context, prepared.names))


def training_view(prepared: Prepared, context: Context, trained: TrainingOutcome) -> dict[str, Any]:
    """The method's report about the training: `warnings` and `sections`, as JSON."""
    history: Sequence[Mapping[str, Any]] = trained.history
    return _view(
        prepared,
        "its report on the training",
        lambda: prepared.method.training_report(trained.modules, context, prepared.names, history),
    )


def _view(prepared: Prepared, what: str, ask: Callable[[], MethodReport]) -> dict[str, Any]:
    warnings: list[str] = []

    def report_with_texts() -> MethodReport:
        found = MethodReport.model_validate(ask())
        sections = tuple(_with_texts(s, prepared.texts, prepared.recipe.report.show_texts) for s in found.sections)
        return found.model_copy(update={"sections": sections})

    report = attempt(prepared.method, what, report_with_texts, warnings) or MethodReport()
    return {"warnings": [*report.warnings, *warnings], "sections": [s.model_dump(mode="json") for s in report.sections]}


def _with_texts(section: Section, texts: Texts, shown: bool) -> Section:
    """The section, whose tables about texts have row numbers of the input instead of positions in the pool."""
    parts: list[Part] = [
        _with_rows(p, texts, shown) if isinstance(p, Table) and p.positions is not None else p for p in section.parts
    ]
    return section.model_copy(update={"parts": tuple(parts)})


def _with_rows(table: Table, texts: Texts, shown: bool) -> Table:
    rows = []
    for position, cells in zip(table.positions or (), table.rows, strict=True):
        entry = texts.table[position]
        text = " / ".join(entry[key] for key in ("text", "text_pair") if entry.get(key))
        rows.append((entry["source_row"], *cells, *((text[:20_000],) if shown else ())))
    columns = ("row", *table.columns, *(("text",) if shown else ()))
    return Table(caption=table.caption, columns=columns, rows=tuple(rows), percent=table.percent)
