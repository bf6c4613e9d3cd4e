"""A recipe and its tables from what a Python caller gives: paths, lists, data sets in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.recipe.models import DistillRecipe, Recipe, parse

Teachers = Sequence[str | Path | Mapping[str, Any]]


def from_python(
    kind: type[Recipe] | type[DistillRecipe],
    teachers: Teachers,
    texts: Any,
    student: str | Path | Mapping[str, Any] | None,
    method: str | Mapping[str, Any],
    output: str | Path,
    evaluate: Any,
    validation: Any,
    blocks: Mapping[str, Any],
) -> tuple[Recipe, dict[str, Texts]]:
    """The recipe, and the tables that are in memory by the argument's name. AlloyError."""
    tables: dict[str, Texts] = {}

    def block(name: str, source: Any, want_labels: bool) -> Any:
        if isinstance(source, (str, Path, Mapping, TextsOptions)):
            return source
        tables[name] = load_texts(source, want_labels=want_labels)
        return {"in_memory": tables[name].fingerprint()}

    if isinstance(teachers, (str, Path, Mapping)) or not isinstance(teachers, Sequence):
        raise _no_model("a list of teachers", teachers)
    for given in (*teachers, *([] if student is None else [student])):
        if not isinstance(given, (str, Path, Mapping)):
            raise _no_model("a folder, a hub id or a dictionary for each model", given)
    needs = create(method).needs
    want_labels = needs.labels or (needs.generated_texts and blocks.get("generation") is None)
    values: dict[str, Any] = {
        "teachers": [str(t) if isinstance(t, Path) else t for t in teachers],
        "texts": block("texts", texts, want_labels),
        "student": str(student) if isinstance(student, Path) else student,
        "method": method,
        "output": str(output),
        **blocks,
    }
    for name, source in (("evaluate", evaluate), ("validation", validation)):
        if source is not None:
            values[name] = {"data": block(name, source, True)}
    return parse(values, kind, "the arguments"), tables


def _no_model(expected: str, got: Any) -> AlloyError:
    """The error for a model object, or one path where a list belongs."""
    what = f"'{got}'" if isinstance(got, (str, Path)) else f"a {type(got).__name__}"
    loaded = hasattr(got, "save_pretrained")
    hint = "Save it and its tokenizer with save_pretrained(folder), and give the folder." if loaded else (
        'For instance teachers=["teachers/billing", "teachers/tech"].'
    )  # fmt: skip
    return AlloyError(expected=expected, got=what, hint=hint)
