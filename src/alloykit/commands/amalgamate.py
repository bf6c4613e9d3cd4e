"""The main job: teachers and unlabelled texts in, one student over the union of their labels out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.recipe.models import Recipe
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.arguments import Teachers, from_python
from alloykit.stages.run_folder import Run


def amalgamate(
    teachers: Teachers,
    texts: str | Path | Sequence[str] | Mapping[str, Any] | Any,
    student: str | Path | Mapping[str, Any] | None = None,
    method: str | Mapping[str, Any] = "alloy",
    *,
    output: str | Path,
    evaluate: Any = None,
    validation: Any = None,
    overwrite: bool = False,
    **blocks: Any,
) -> Run:
    """Melt teachers into one student. The same as `alloykit amalgamate`, from Python.

    teachers: folders, hub ids or dictionaries as in the recipe. texts: a file, a folder, a list of strings or pairs, a
    `datasets.Dataset`, or the recipe's `texts:` block as a dictionary. student: an encoder and, in a dictionary, its
    layers. evaluate, validation: labelled texts of the same kinds as `texts`. blocks: the recipe's other keys (`training={…}`, …).
    Returns the run with `.student` (a folder), `.metrics` and `.predict`. Raises AlloyError for anything to be mended.
    """
    recipe, tables = from_python(Recipe, teachers, texts, student, method, output, evaluate, validation, blocks)
    return run_recipe(recipe, tables=tables, overwrite=overwrite)
