"""changes.html: what an update changed, per label, and the differences of the recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alloykit.evaluation.label_changes import NEW
from alloykit.names import counted
from alloykit.reporting import figures
from alloykit.reporting.compare import recipe_differences
from alloykit.reporting.figures import Figure, percent
from alloykit.reporting.page import render_outline
from alloykit.reporting.verdict import Verdict, points_of

OUTLINE = {"changes/summary": "Summary", "changes/labels": "Labels", "compare/recipes": "Differences of the recipes"}
NOT_A_CHANGE = ("output", "student.continues")  # of every update


def render_changes(found: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The page as HTML. found: as `compare_students` gives it. old, new: the runs as `page.load` gives them."""
    runs = [{**old, "name": f"before ({old['name']})"}, {**new, "name": f"now ({new['name']})"}]
    differences = [row for row in recipe_differences([run["recipe"] for run in runs]) if row[0] not in NOT_A_CHANGE]
    values = {
        "verdict": summary_of_changes(found),
        "found": found,
        "figures": _figures(found),
        "runs": runs,
        "differences": differences,
    }
    return render_outline(f"Update: {new['name']}", OUTLINE, values)


def summary_of_changes(found: Mapping[str, Any]) -> Verdict:
    """Headline and points in words."""
    if found["on"] == "pool":
        return _without_test_texts(found)
    overall, rows = found["overall"], found["labels"]
    what = "Texts with exactly the true labels:" if found["multi_label"] else "Accuracy"
    shown = (
        f"{what} {percent(overall['old'])} before and {percent(overall['new'])} now: {points_of(overall['difference'])} points "
        f"({points_of(overall['low'])} to {points_of(overall['high'])}) on {counted(found['texts'], 'test text')}."
    )
    points = [_about(label, rows[label], "regressed") for label in found["regressed"]]
    points += [_about(label, rows[label], "improved") for label in found["improved"]]
    if not found["regressed"]:
        points.append("No label regressed significantly.")
    if new := [label for label, row in rows.items() if row["change"] == NEW]:
        points.append(f"New labels: {', '.join(new)}. The earlier student could not answer them.")
    if found["untested"]:
        points.append(f"No test text has the label {', '.join(found['untested'])}.")
    worse = found["regressed"] or overall["high"] < 0
    return Verdict("poor" if worse else "good" if overall["low"] > 0 else "mixed", shown, points)


def _without_test_texts(found: Mapping[str, Any]) -> Verdict:
    rows = {label: row for label, row in found["labels"].items() if row["same"] is not None}
    least = sorted(rows, key=lambda label: (rows[label]["same"], label))[:3]
    points = [
        f"{label}: {percent(rows[label]['same'])} of {counted(rows[label]['old'], 'text')} kept this label."
        for label in least
    ]
    points.append(
        "Without test texts it is not known which answers are better. Name test texts with `-o evaluate.data=FILE`."
    )
    what = "the same labels" if found["multi_label"] else "the same label"
    shown = f"Both students give {what} to {percent(found['same'])} of {found['texts']:,} texts of the pool."
    return Verdict("unknown", shown, points)


def _about(label: str, row: Mapping[str, Any], what: str) -> str:
    return (
        f"{label} {what}: {percent(row['old'])} before and {percent(row['new'])} now, {points_of(row['difference'])} points "
        f"({points_of(row['low'])} to {points_of(row['high'])}) on {counted(row['texts'], 'text')}."
    )


def _figures(found: Mapping[str, Any]) -> list[Figure]:
    if found["on"] == "pool":
        n = found["texts"]
        rows = {label: ((row["old"] / n, None), (row["new"] / n, None)) for label, row in found["labels"].items()}
        caption = "Share of the pool's texts that each student gives a label to."
        return [figures.two_shares("labels", rows, ("before", "now"), caption, "share of texts (%)")]
    rows = {
        label: ((row["old"], row["interval_old"]), (row["new"], row["interval_new"]))
        for label, row in found["labels"].items()
    }
    caption = "Accuracy on the texts of each label, with 95\u00a0% intervals."
    return [figures.two_shares("labels", rows, ("before", "now"), caption, "accuracy (%)")]
