"""The model card beside the student: what it is, its teachers, its test results and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from alloykit.escape import code_block, last_part, markdown, markdown_sentence, visible
from alloykit.models.location import card_of
from alloykit.reporting.recipes import model_name
from alloykit.reporting.verdict import verdict

UNKNOWN = "unknown"
TEMPLATE = "templates/card.md.j2"
IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")  # a licence's, as the hub knows them
LONGEST = 100  # characters of a stated licence that are shown


def licence(model: str) -> str:
    """The licence that the teacher's own model card states, in its folder or on the hub; "unknown" if it states none."""
    readme = card_of(model)
    if readme is None:
        return UNKNOWN
    try:
        stated = ModelCard.load(readme, ignore_metadata_errors=True).data.to_dict().get("license")
    except Exception:  # broken front matter, no text: a card must not stop a run
        return UNKNOWN
    words = ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or UNKNOWN)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"


def card(run: Mapping[str, Any], teachers: Sequence[Mapping[str, Any]], method: Mapping[str, str]) -> str:
    """The card as Markdown with metadata.

    run: as `page.load` gives it. teachers: name, model, revision, licence and labels of each. method: name, title and citation.
    """
    metrics, recipe = run["metrics"], run["recipe"]
    tested = metrics.get("evaluation")
    stated = {t["licence"] for t in teachers}
    common = next(iter(stated)) if len(stated) == 1 else None
    base = (recipe.get("student") or {}).get("model")
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        license=common if common and common != UNKNOWN and IDENTIFIER.fullmatch(common) else None,
        tags=["alloykit", "knowledge-amalgamation", "knowledge-distillation", method["name"]],
        base_model=run["base_model"],
        model_name=visible(run["name"]) if tested else None,
        eval_results=_results(run, tested) if tested and tested["judged"] == "student" else None,
    )
    values = {
        "title": f"{run['name']}: one classifier of {len(metrics['labels'])} labels from {len(teachers)} teachers",
        "metrics": metrics,
        "teachers": [{**t, "model": model_name(t["model"], t["revision"] is not None)} for t in teachers],
        "method": method,
        "tested": tested,
        "verdict": verdict(metrics),
        "recipe": run["recipe_text"].strip(),
        "base": base or "another model",
        "length": (recipe.get("training") or {}).get("max_length"),
        "common_licence": common,
        "pooled": (recipe.get("student") or {}).get("head") == "pooled",
        "temperature": (metrics.get("student") or {}).get("temperature"),
    }
    template = files("alloykit.reporting").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return str(ModelCard(_environment().from_string(template).render(card_data=Markup(data.to_yaml()), **values)))


def _environment() -> Environment:
    """Inserted values are escaped, so that they are never Markdown, unless they are `Markup`."""
    made = Environment(autoescape=False, undefined=StrictUndefined, finalize=markdown)
    made.filters |= {"sentence": markdown_sentence}
    made.globals |= {"code_block": code_block}
    return made


def _results(run: Mapping[str, Any], tested: Mapping[str, Any]) -> list[EvalResult]:
    data = (run["recipe"].get("evaluate") or {}).get("data") or {}
    name = visible(last_part(data.get("path") or data.get("dataset") or "labelled texts"))
    score = tested["scores"]["student"]
    return [
        EvalResult("text-classification", "custom", name, kind, round(score[key], 4), task_name="Text classification")
        for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
    ]
