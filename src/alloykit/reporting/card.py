"""The model card beside the student: what it is, its teachers, its test results and its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from alloykit.escape import code_block, last_part, markdown, markdown_sentence, visible
from alloykit.models.location import card_of
from alloykit.names import counted
from alloykit.reporting.recipes import model_name
from alloykit.reporting.verdict import verdict

UNKNOWN = "unknown"
TEMPLATE = "templates/card.md.j2"
IDENTIFIER = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")  # a licence's, as the hub knows them
LANGUAGE = re.compile(r"[a-z]{2,3}|multilingual|code")  # as the hub knows them
LONGEST = 100  # at most so many characters of a stated licence are shown


@dataclass(frozen=True)
class Stated:
    """What a teacher's own model card states. licence: "unknown" if it states none. languages: codes such as "en"; empty if it states none."""

    licence: str = UNKNOWN
    languages: tuple[str, ...] = ()


def stated_by(model: str) -> Stated:
    """Licence and languages that the teacher's own model card states, in its folder or on the hub."""
    readme = card_of(model)
    if readme is None:
        return Stated()
    try:
        data = ModelCard.load(readme, ignore_metadata_errors=True).data.to_dict()
    except Exception:  # broken front matter, no text: a card must not stop a run
        return Stated()
    found = data.get("license")
    words = ", ".join(map(str, found)) if isinstance(found, list) else str(found or UNKNOWN)
    spoken = data.get("language") or []
    spoken = spoken if isinstance(spoken, list) else [spoken]
    languages = tuple(code for code in map(str, spoken) if LANGUAGE.fullmatch(code))
    return Stated(words if len(words) <= LONGEST else f"{words[:LONGEST]}…", languages)


def card(
    run: Mapping[str, Any],
    teachers: Sequence[Mapping[str, Any]],
    method: Mapping[str, str],
    *,
    place: str = "this folder",
    licence: str | None = None,
    languages: Sequence[str] = (),
) -> str:
    """The card as Markdown with metadata.

    run: as `page.load` gives it. teachers: name, model, revision, licence, languages and labels of each. method: name, title and citation.
    place: the student's id on the hub, once it has one. licence, languages: those that the user chose. Without them, the student has
    the licence that all teachers have in common, and all their languages if each teacher states some.
    """
    metrics, recipe = run["metrics"], run["recipe"]
    tested = metrics.get("evaluation")
    stated = {t["licence"] for t in teachers}
    common = next(iter(stated)) if len(stated) == 1 else None
    base = (recipe.get("student") or {}).get("model")
    agreed = common if common and common != UNKNOWN and IDENTIFIER.fullmatch(common) else None
    spoken = [t.get("languages") or () for t in teachers]
    united = sorted({code for codes in spoken for code in codes}) if all(spoken) else []
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        license=licence or agreed,
        language=list(languages) or united or None,
        datasets=_datasets(recipe) or None,
        tags=["alloykit", "knowledge-amalgamation", "knowledge-distillation", method["name"]],
        base_model=run["base_model"],
        model_name=visible(run["name"]) if tested else None,
        eval_results=_results(run, tested) if tested and tested["judged"] == "student" else None,
    )
    values = {
        "title": f"{run['name']}: one classifier of {counted(len(metrics['labels']), 'label')} from {counted(len(teachers), 'teacher')}",
        "metrics": metrics,
        "teachers": [{**t, "model": model_name(t["model"], t["revision"] is not None)} for t in teachers],
        "method": method,
        "tested": tested,
        "verdict": verdict(metrics),
        "recipe": run["recipe_text"].strip(),
        "base": base or "another model",
        "length": (recipe.get("training") or {}).get("max_length"),
        "reads": (recipe.get("training") or {}).get("long_texts", "head"),
        "common_licence": common,
        "chosen_licence": licence,
        "place": Markup(place),
        "pooled": (recipe.get("student") or {}).get("head") == "pooled",
        "temperature": _student_view(metrics).get("temperature"),
        "multi_label": "multi_label" in metrics,
        "label_scores": (metrics.get("multi_label") or {}).get("evaluation"),
        "none_of_these": "none_of_these" in _student_view(metrics),
    }
    template = files("alloykit.reporting").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return str(ModelCard(card_environment().from_string(template).render(card_data=Markup(data.to_yaml()), **values)))


def _student_view(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was measured with the student on the pool."""
    several = (metrics.get("multi_label") or {}).get("pool")
    return metrics.get("student") or several or {}


def card_environment() -> Environment:
    """Inserted values are escaped, unless they are `Markup`. So they are never read as Markdown."""
    made = Environment(autoescape=False, undefined=StrictUndefined, finalize=markdown)
    made.filters |= {"sentence": markdown_sentence}
    made.globals |= {"code_block": code_block}
    return made


def _datasets(recipe: Mapping[str, Any]) -> list[str]:
    """Ids of the hub's data sets that the run read, each once."""
    of_labelled = ((recipe.get(key) or {}).get("data") for key in ("validation", "labelled", "evaluate"))
    blocks = [block for block in (recipe.get("texts"), *of_labelled) if isinstance(block, Mapping)]
    ids = [place.get("dataset") for block in blocks for place in (block, *(block.get("more") or ()))]
    return list(dict.fromkeys(name for name in ids if name))


def _results(run: Mapping[str, Any], tested: Mapping[str, Any]) -> list[EvalResult]:
    of_recipe = tested.get("of_recipe", True)
    data = (of_recipe and (run["recipe"].get("evaluate") or {}).get("data")) or {}
    name = visible(last_part(data.get("path") or data.get("dataset") or "labelled texts"))
    hub = data.get("dataset")
    where = {key: data.get(key) for key in ("config", "split", "revision")} if hub else {}
    score = tested["scores"]["student"]
    low, high = score["interval"]
    names = {
        "accuracy": f"Accuracy (95 % interval {low:.3f} to {high:.3f}, {tested['texts']:,} texts)",
        "f1": "Macro-F1",
    }
    return [
        EvalResult(
            task_type="text-classification",
            task_name="Text classification",
            dataset_type=hub or "custom",
            dataset_name=name,
            dataset_config=where.get("config"),
            dataset_split=where.get("split"),
            dataset_revision=where.get("revision"),
            metric_type=kind,
            metric_name=names[kind],
            metric_value=round(score[key], 4),
        )
        for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
    ]
