"""The student's model card, from the files of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.errors import AlloyError
from alloykit.methods.registry import methods
from alloykit.names import unknown_name
from alloykit.run_folder.file_names import METRICS, RECIPE
from alloykit.run_folder.read import recipe_of
from alloykit.run_folder.run_folder import RunFolder


def student_card(
    run: RunFolder,
    view: Mapping[str, Any],
    *,
    place: str = "this folder",
    licence: str | None = None,
    languages: Sequence[str] = (),
) -> str:
    """The card as Markdown with metadata. view: as `page.load` gives it, with metrics. place, licence, languages: as in `card.card`.

    AlloyError if the run's method is not installed, and for a recipe and metrics that do not belong together.
    """
    from alloykit.reporting import card

    name = view["metrics"]["method"]["name"]
    if name not in methods():
        raise unknown_name(
            f"the run's method, which {run.folder / METRICS} names, to be installed", name, list(methods())
        )
    method = methods()[name]
    about = {"name": name, "title": method.title, "citation": method.citation or method.reference}
    specs = recipe_of(run.folder).teachers
    if len(specs) != len(view["metrics"]["teachers"]):
        raise AlloyError(
            expected=f"the {len(specs)} teachers of {run.folder / RECIPE} in {run.folder / METRICS}",
            got=f"{len(view['metrics']['teachers'])}",
            hint="Run the recipe again with the same `output`: finished parts are kept.",
        )
    teachers = []
    for (teacher, labels), spec in zip(view["metrics"]["teachers"].items(), specs, strict=True):
        stated = card.Stated() if spec.model_name is None else card.stated_by(spec.model_name)
        teachers.append(
            {
                "name": teacher,
                "model": spec.source,
                "revision": getattr(spec, "revision", None),
                "licence": stated.licence,
                "languages": stated.languages,
                "labels": labels,
            }
        )
    return card.card(view, teachers, about, place=place, licence=licence, languages=languages)
