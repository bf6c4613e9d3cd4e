"""The model card beside the student: what it is, who taught it, how well it does, what it must not be trusted with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from alloykit.models.source import card_of
from alloykit.report.verdict import verdict

UNKNOWN = "unknown"
TEMPLATE = "templates/card.md.j2"
HUB_ID = re.compile(r"\w[\w.-]*(/[\w.-]+)?")


def licence(model: str) -> str:
    """The licence that a teacher's own model card states: from its folder, or from the hub; "unknown" where it says none."""
    readme = card_of(model)
    if readme is None:
        return UNKNOWN
    try:
        stated = ModelCard.load(readme, ignore_metadata_errors=True).data.to_dict().get("license")
    except Exception:  # broken front matter, no text: a card must not stop a run
        return UNKNOWN
    return ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or UNKNOWN)


def card(run: Mapping[str, Any], teachers: Sequence[Mapping[str, Any]], method: Mapping[str, str]) -> str:
    """The card's text. run: as `page.load` gives it; teachers: {name, model, revision, licence, labels} each; method:
    {name, title, citation}."""
    metrics, recipe = run["metrics"], run["recipe"]
    tested = metrics.get("evaluation")
    stated = {t["licence"] for t in teachers}
    agreed = next(iter(stated)) if len(stated) == 1 else None
    base = (recipe.get("student") or {}).get("model")
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        license=agreed if agreed != UNKNOWN else None,
        tags=["alloykit", "knowledge-amalgamation", "knowledge-distillation", method["name"]],
        base_model=base if base and HUB_ID.fullmatch(base) and not Path(base).exists() else None,
        model_name=run["name"] if tested else None,
        eval_results=_results(run, tested) if tested and tested["judged"] == "student" else None,
    )
    values = {
        "title": f"{run['name']}: one classifier of {len(metrics['labels'])} labels from {len(teachers)} teachers",
        "metrics": metrics,
        "teachers": [{**t, "model": _shown(t["model"])} for t in teachers],
        "method": method,
        "tested": tested,
        "verdict": verdict(metrics),
        "recipe": run["recipe_text"].strip(),
        "base": _shown(base) if base else "another model",
        "length": (recipe.get("training") or {}).get("max_length"),
        "agreed": agreed,
        "pooled": (recipe.get("student") or {}).get("head") == "pooled",
        "temperature": (metrics.get("student") or {}).get("temperature"),
    }
    path = files("alloykit.report").joinpath(TEMPLATE)
    return str(ModelCard.from_template(data, template_str=path.read_text(encoding="utf-8"), **values))


def _shown(model: str) -> str:
    """A hub id as it is; of a local folder only its name, since where it lies is nobody's business."""
    return Path(model).name if Path(model).exists() else model


def _results(run: Mapping[str, Any], tested: Mapping[str, Any]) -> list[EvalResult]:
    data = (run["recipe"].get("evaluate") or {}).get("data") or {}
    name = Path(str(data.get("path") or data.get("dataset") or "labelled texts")).name
    score = tested["scores"]["student"]
    return [
        EvalResult("text-classification", "custom", name, kind, round(score[key], 4), task_name="Text classification")
        for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
    ]
