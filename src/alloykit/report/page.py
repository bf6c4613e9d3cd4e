"""report.html: one self-contained page of a run, or of several side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from alloykit.escape import last_part, visible
from alloykit.models.location import is_hub_id
from alloykit.report import figures
from alloykit.report.figures import Picture, percent
from alloykit.report.recipes import shown
from alloykit.report.sections import sections
from alloykit.report.verdict import verdict
from alloykit.run_files import read_environment, read_metrics, read_training, recipe_of


def load(folder: Path) -> dict[str, Any]:
    """What a run folder holds: metrics, training and environment, empty where missing, and the recipe as values and as text, both
    without the folders of local paths. `base_model`: the hub's id of what the student began as, if it has one. AlloyError for a
    damaged file."""
    made_with = recipe_of(folder)
    recipe, student = shown(made_with), made_with.student
    return {
        "folder": folder,
        "name": last_part(folder.resolve()),
        "metrics": read_metrics(folder) or {},
        "training": read_training(folder) or {},
        "environment": read_environment(folder) or {},
        "base_model": student.model if student is not None and is_hub_id(student.model) else None,
        "recipe": recipe,
        "recipe_text": yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True),
    }


def render(run: Mapping[str, Any]) -> str:
    """The page of one run, as `load` gives it."""
    metrics = run["metrics"]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            title=f"{run['name']}: can this student be trusted?",
            run=run,
            metrics=metrics,
            verdict=verdict(metrics),
            pictures=pictures(run),
            sections=sections(run),
            per_label=per_label(metrics),
            scores=(metrics.get("evaluation") or {}).get("scores", {}),
            seconds=_seconds(metrics),
        )
    )


def pictures(run: Mapping[str, Any]) -> list[Picture]:
    """All that can be drawn from what is there, the telling ones first."""
    metrics, training = run["metrics"], run["training"]
    found: list[Picture] = []
    tested = metrics.get("evaluation")
    if tested:
        found += _tested(metrics, tested)
    summary, view, agreement = metrics.get("supervision"), metrics.get("student"), metrics.get("agreement")
    if agreement and not tested:
        caption = "How sure each teacher is over the pool. One that is surer of everything wins too often."
        found.append(
            figures.histograms("pool-confidence", agreement["confidence"], caption, "confidence c = 1 − u / log C")
        )
    if summary and not tested:
        by_label = {name: s["teacher_share"] for name, s in summary["labels"].items() if s["teacher_share"]}
        if by_label:
            caption = "Who speaks for the texts that the method gives to a label: mean weight of each teacher."
            found.append(
                figures.shares("pool-routing", by_label, list(metrics["teachers"]), caption, "mean weight (%)")
            )
    if summary:
        weights = summary["weights"]
        caption = "How much each text of the pool counts. Texts near 0 teach next to nothing."
        found.append(
            figures.histograms("weights", {"texts": weights["counts"]}, caption, "weight v(x)", weights["up_to"])
        )
    if view:
        caption = "How sure the student is over the pool" + (
            f", after division of its logits by {view['temperature']:.2f}." if view["temperature"] else "."
        )
        found.append(figures.histograms("student", {"student": view["confidence"]}, caption, "calibrated confidence"))
    if training.get("history"):
        caption = "Training. The checkpoint was chosen on held-out texts" + (
            "." if any("eval_criterion" in h for h in training["history"]) else ": none, the last was taken."
        )
        found.append(figures.training(training["history"], training["selected_step"], caption))
    return found


def _tested(metrics: Mapping[str, Any], tested: Mapping[str, Any]) -> list[Picture]:
    ours, scores = tested["judged"], tested["scores"]
    who = "the student" if ours == "student" else f"the {ours}"
    order = [n for n in scores if n != ours] + [ours]
    found = [
        figures.accuracies(
            {n: scores[n] for n in order},
            f"Accuracy of {who}, of all that you could serve instead, and of perfect routing.",
        )
    ]
    if sum(tested["confidence"]["right"]) and sum(tested["confidence"]["wrong"]):
        series = {
            "know the label": tested["confidence"]["right"],
            "do not know it": tested["confidence"]["wrong"],
        }
        caption = (
            "Does confidence tell the right teacher from the wrong one? The further apart, the better the routing."
        )
        found.append(figures.histograms("confidence", series, caption, "confidence c = 1 − u / log C"))
    if tested.get("routing"):
        caption = "Where texts of each true label were sent: the teacher with the largest weight."
        table = {label: r["to"] for label, r in tested["routing"].items()}
        found.append(figures.shares("routing", table, list(metrics["teachers"]), caption, "texts (%)"))
    caption = f"What {who} answers to texts of each true label."
    found.append(figures.confusion(tested["confusion"], metrics["labels"], caption))
    ways = [w for w in (ours, f"{ours}, tempered") if w in tested["reliability"]]
    caption = f"Is {who} as often right as it says? On the dotted line it is. Large dots: many texts."
    return [*found, figures.reliability(tested["reliability"], ways, caption)]


def per_label(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row per label: who knows it, how well it is answered, how much of the pool taught it."""
    rows = []
    tested, summary = metrics.get("evaluation"), metrics.get("supervision")
    for i, label in enumerate(metrics.get("labels", [])):
        row: dict[str, Any] = {
            "label": label,
            "teachers": [t for t, known in metrics["teachers"].items() if label in known],
        }
        if tested:
            matrix = tested["confusion"]
            true, answered, right = sum(matrix[i]), sum(r[i] for r in matrix), matrix[i][i]
            row |= {
                "tested": true,
                "recall": right / true if true else None,
                "precision": right / answered if answered else None,
            }
            routing = (tested.get("routing") or {}).get(label)
            row["routed"] = routing["right"] if routing else None
        if summary:
            row |= {k: summary["labels"][label][k] for k in ("texts", "effective_sample_size")}
        rows.append(row)
    return rows


def _seconds(metrics: Mapping[str, Any]) -> list[tuple[str, float]]:
    seconds = metrics.get("seconds") or {}
    rows = [(f"teacher {name} reading", s) for name, s in (seconds.get("sweep") or {}).items() if s]
    return rows + ([("training the student", seconds["training"])] if seconds.get("training") else [])


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def words(text: str) -> Markup:
    """A sentence with `commands` in it, as HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def p_value(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("alloykit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value, lines=True) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("alloykit.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    made.globals |= {"style": Markup(style), "version": version("alloykit")}
    made.filters |= {"percent": percent, "duration": duration, "p_value": p_value, "svg": Markup, "words": words}
    return made
