"""The scores as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from alloykit.names import counted
from alloykit.terminal import plain

COLUMNS = 5  # of teachers or labels: so many fit into 80 characters


def score_table(result: Mapping[str, Any]) -> Table:
    """The result as a table: a row per classifier; a column per teacher for the texts whose label that teacher knows, if there are at most `COLUMNS`.

    A teacher that knows the labels of all texts has no column: it would repeat that of all texts.
    """
    scores = result["scores"]
    if "micro_f1" in next(iter(scores.values())):
        return _multi_label_table(result)
    every = list(next(iter(scores.values()))["groups"])
    groups = [g for g in every if any(s["groups"][g] != s["accuracy"] for s in scores.values())]
    routed = ["correct teacher"] if groups and any("correct_teacher" in s for s in scores.values()) else []
    caption = "a column named like a teacher: the texts of that teacher's labels" if groups else None
    if len(groups) > COLUMNS:
        groups, caption = [], f"The report has the accuracy on the labels of each of the {len(groups):,} teachers."
    out = Table(title=f"accuracy on {counted(result['texts'], 'labelled text')} (%)", caption=caption)
    for heading in ("", "all", "macro-F1", *groups, *routed):
        out.add_column(plain(heading), justify="left" if not heading else "right", no_wrap=not heading)
    for name, s in scores.items():
        cells = [
            s["accuracy"],
            s["macro_f1"],
            *(s["groups"][g] for g in groups),
            *(s.get("correct_teacher") for _ in routed),
        ]
        if s.get("unanswered"):
            name = f"{name} ({result['texts'] - s['unanswered']:,} texts)"
        style = "bold" if name == "student" else None
        out.add_row(plain(name), *("–" if c is None else f"{100 * c:.1f}" for c in cells), style=style)
    return out


def _multi_label_table(result: Mapping[str, Any]) -> Table:
    """The result of a multi-label test: a row per classifier, a column with the F1 of each label, if there are at most `COLUMNS`."""
    scores = result["scores"]
    labels = list(dict.fromkeys(label for s in scores.values() for label in s["labels"]))
    caption = "a label is given from a probability of 0.5 on"
    if len(labels) > COLUMNS:
        labels, caption = [], f"{caption}. The report has the F1 of each of the {len(labels):,} labels."
    out = Table(title=f"F1 on {counted(result['texts'], 'labelled text')} (%)", caption=caption)
    for heading in ("", "micro-F1", "macro-F1", "exact", *labels):
        out.add_column(plain(heading), justify="left" if not heading else "right", no_wrap=not heading)
    for name, s in scores.items():
        cells = [s["micro_f1"], s["macro_f1"], s["exact"], *(s["labels"].get(x, {}).get("f1") for x in labels)]
        style = "bold" if name == "student" else None
        out.add_row(plain(name), *("–" if c is None else f"{100 * c:.1f}" for c in cells), style=style)
    return out
