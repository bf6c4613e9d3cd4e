"""The sections of a run's page. A section that has nothing to show is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from alloykit.evaluation.metrics import LabelScore, label_scores
from alloykit.reporting import figures
from alloykit.reporting.figures import Figure
from alloykit.reporting.method_sections import MethodSection, method_sections
from alloykit.reporting.next_steps import next_steps
from alloykit.reporting.verdict import verdict

OUTLINE = {
    "summary": "Summary",
    "next-steps": "What to do next",
    "warnings": "Warnings",
    "accuracy": "Accuracy",
    "calibration": "Calibration",
    "routing": "Routing",
    "teachers": "Teachers",
    "training": "Training",
    "data": "Data",
    "generated-texts": "Generated texts",
    "size-and-speed": "Size and speed",
    "recipe": "Recipe",
}
"""Identifier, which names the template, → heading. The sections of a method follow "routing"; one with the heading of a section above is
shown at the end of that section."""


CONFIDENCE = "confidence (1 − normalised entropy)"


@dataclass(frozen=True)
class PageSection:
    """An entry of the table of contents, and its content as HTML."""

    identifier: str
    heading: str
    content: Markup


def page_sections(run: Mapping[str, Any], templates: Environment) -> list[PageSection]:
    """Every section of a run's page that has something to show. run: as `page.load` gives it."""
    values = _values(run)
    of_method = method_sections(run)
    found = []
    for identifier, heading in OUTLINE.items():
        of_heading = [section for section in of_method if section.title == heading]
        content = templates.get_template(f"sections/{identifier}.html.j2").render(values).strip()
        content += "".join(_rendered(section, templates) for section in of_heading)
        if content:
            found.append(PageSection(identifier, heading, Markup(content)))
        if identifier == "routing":
            others = [section for section in of_method if section.title not in OUTLINE.values()]
            found += [
                PageSection(f"method-{i}", section.title, Markup(_rendered(section, templates)))
                for i, section in enumerate(others)
            ]
    return found


def _rendered(section: MethodSection, templates: Environment) -> str:
    return templates.get_template("sections/method.html.j2").render(section=section)


def _values(run: Mapping[str, Any]) -> dict[str, Any]:
    """What the templates of the sections read."""
    metrics = run["metrics"]
    return {
        "run": run,
        "metrics": metrics,
        "tested": metrics.get("evaluation"),
        "verdict": verdict(metrics),
        "next_steps": next_steps(metrics),
        "figures": run_figures(run),
        "labels": labels_tested(metrics),
        "known_by": {
            label: ", ".join(t for t, known in metrics["teachers"].items() if label in known)
            for label in metrics.get("labels", [])
        },
        "seconds": _seconds(metrics),
    }


def labels_tested(metrics: Mapping[str, Any]) -> dict[str, LabelScore]:
    """Precision, recall, F1 and test texts of every label, by the judged classifier; empty for a run that was not tested."""
    tested = metrics.get("evaluation")
    if not tested:
        return {}
    return dict(zip(metrics["labels"], label_scores(tested["confusion"]), strict=True))


def run_figures(run: Mapping[str, Any]) -> dict[str, list[Figure]]:
    """Section → the figures for which the run has data."""
    metrics, training = run["metrics"], run["training"]
    tested = metrics.get("evaluation")
    found: dict[str, list[Figure]] = {identifier: [] for identifier in OUTLINE}
    if tested:
        _add_tested(found, metrics, tested)
    summary, view, agreement = metrics.get("supervision"), metrics.get("student"), metrics.get("agreement")
    if view:
        caption = "Confidence of the student on the pool" + (
            f", with its logits divided by the temperature {view['temperature']:.2f}." if view["temperature"] else "."
        )
        found["calibration"].append(
            figures.histograms("student", {"student": view["confidence"]}, caption, "confidence")
        )
    if agreement and not tested:
        caption = (
            "Confidence of each teacher on the pool. A teacher that is confident on every text gets too much weight."
        )
        found["routing"].append(figures.histograms("pool-confidence", agreement["confidence"], caption, CONFIDENCE))
    if summary and not tested:
        by_label = {name: s["teacher_share"] for name, s in summary["labels"].items() if s["teacher_share"]}
        if by_label:
            caption = "Mean weight of each teacher, by the label that the method gives to a text."
            found["routing"].append(
                figures.stacked_bars("pool-routing", by_label, list(metrics["teachers"]), caption, "mean weight (%)")
            )
    if training.get("history"):
        checked = any("eval_criterion" in h for h in training["history"])
        caption = "Training loss. " + (
            "The checkpoint was selected on held-out texts." if checked else "No text was held out: the last step was selected."
        )  # fmt: skip
        found["training"].append(figures.training(training["history"], training["selected_step"], caption))
    if summary:
        weights = summary["weights"]
        caption = (
            "Weight of each text of the pool in the training loss. A text with a weight near 0 has almost no effect."
        )
        found["data"].append(
            figures.histograms("weights", {"texts": weights["counts"]}, caption, "weight v(x)", weights["up_to"])
        )
    return found


def _add_tested(found: dict[str, list[Figure]], metrics: Mapping[str, Any], tested: Mapping[str, Any]) -> None:
    judged, scores = tested["judged"], tested["scores"]
    order = [n for n in scores if n != judged] + [judged]
    caption = f"Accuracy of the {judged} and of its alternatives, with 95\u00a0% intervals."
    found["accuracy"] += [
        figures.accuracies({n: scores[n] for n in order}, caption),
        figures.confusion(tested["confusion"], metrics["labels"], f"Confusion matrix of the {judged}."),
    ]
    tempered = f"{judged}, tempered"
    shown = {judged: tested["reliability"][judged]}
    if tempered in tested["reliability"]:
        shown[f"{judged}, with temperature"] = tested["reliability"][tempered]
    caption = f"Reliability diagram of the {judged}. Below the dotted line it is overconfident. A larger dot stands for more texts."
    found["calibration"].append(figures.reliability_diagram(shown, list(shown), caption))
    if sum(tested["confidence"]["right"]) and sum(tested["confidence"]["wrong"]):
        series = {
            "label is known": tested["confidence"]["right"],
            "label is not known": tested["confidence"]["wrong"],
        }
        caption = "Confidence of a teacher on texts whose label it knows, and on the other texts. Routing works well if the curves are far apart."
        found["routing"].append(figures.histograms("confidence", series, caption, CONFIDENCE))
    if tested.get("routing"):
        caption = "Teacher with the largest weight, by true label."
        table = {label: r["to"] for label, r in tested["routing"].items()}
        found["routing"].append(
            figures.stacked_bars("routing-shares", table, list(metrics["teachers"]), caption, "texts (%)")
        )


def _seconds(metrics: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Seconds by part of a run that trained a student; none of other runs."""
    seconds = metrics.get("seconds") or {}
    if not seconds.get("training"):
        return []
    rows = [(f"forward passes of teacher {name}", s) for name, s in (seconds.get("sweep") or {}).items() if s]
    return [*rows, ("training of the student", seconds["training"])]
