"""The page and the card of a run with several questions: a summary, and a part for each question that links to its own report."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from huggingface_hub import ModelCard, ModelCardData
from markupsafe import Markup

from alloykit.recipe.questions import QUESTIONS
from alloykit.reporting.card import card_environment
from alloykit.reporting.page import template_environment
from alloykit.reporting.sections import PageSection
from alloykit.reporting.verdict import best_alternative, verdict
from alloykit.run_folder.file_names import REPORT


def render_questions(name: str, views: Mapping[str, Mapping[str, Any]]) -> str:
    """The page as HTML. name: the run's. views: by question, as `page.load` gives them."""
    made = template_environment()
    questions = [_values(question, view) for question, view in views.items()]
    summary = made.get_template("questions/summary.html.j2").render(questions=questions).strip()
    sections = [PageSection("summary", "Summary", Markup(summary))]
    for i, question in enumerate(questions):
        content = made.get_template("questions/question.html.j2").render(question).strip()
        sections.append(PageSection(f"question-{i + 1}", question["name"], Markup(content)))
    return made.get_template("page.html.j2").render(title=f"Report: {name}", sections=sections)


def questions_card(name: str, views: Mapping[str, Mapping[str, Any]], length: int, *, pooled: bool) -> str:
    """The card as Markdown with metadata. name, views: as for `render_questions`. length: tokens of a text. pooled: whether only alloykit
    can load the head."""
    questions = [_values(question, view) for question, view in views.items()]
    first = next(iter(views.values()))
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        tags=["alloykit", "knowledge-amalgamation", "knowledge-distillation"],
        base_model=first["base_model"],
    )
    template = files("alloykit.reporting").joinpath("templates/questions_card.md.j2").read_text(encoding="utf-8")
    rendered = card_environment().from_string(template).render(
        card_data=Markup(data.to_yaml()),
        title=f"{name}: one classifier that answers {len(questions)} questions",
        names=[question["name"] for question in questions],
        questions=questions,
        texts=max(question["used"] for question in questions),
        length=length,
        pooled=pooled,
    )  # fmt: skip
    return str(ModelCard(rendered))


def _values(name: str, view: Mapping[str, Any]) -> dict[str, Any]:
    """What page and card show of one question."""
    metrics = view["metrics"]
    tested, several = metrics.get("evaluation"), (metrics.get("multi_label") or {}).get("evaluation")
    student = tested["scores"].get("student") if tested else None
    best = best_alternative(tested) if tested else None
    return {
        "name": name,
        "labels": metrics["labels"],
        "teachers": list(metrics["teachers"]),
        "method": metrics["method"]["name"],
        "used": metrics["texts"]["used"],
        "texts": tested["texts"] if tested else several["texts"] if several else None,
        "multi_label": "multi_label" in metrics,
        "micro_f1": (several["scores"].get("student") or {}).get("micro_f1") if several else None,
        "label_scores": several["scores"] if several else None,
        "accuracy": student["accuracy"] if student else None,
        "best": best,
        "best_accuracy": tested["scores"][best]["accuracy"] if tested and best else None,
        "scores": tested["scores"] if tested else None,
        "verdict": verdict(metrics),
        "warnings": metrics["warnings"],
        "page": f"{QUESTIONS}/{quote(name)}/{REPORT}",
    }
