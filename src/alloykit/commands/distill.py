"""Teachers of one task and labelled texts in, one fast student out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alloykit.recipe.models import DistillRecipe
from alloykit.stages.arguments import Teachers, from_python
from alloykit.stages.distillation import distill_recipe
from alloykit.stages.run_folder import Run


def distill(
    teachers: Teachers,
    texts: Any,
    student: str | Path | Mapping[str, Any] | None = None,
    method: str | Mapping[str, Any] = "mt_bert",
    *,
    output: str | Path,
    evaluate: Any = None,
    validation: Any = None,
    overwrite: bool = False,
    **blocks: Any,
) -> Run:
    """Distil teachers that know the same labels into one student. The same as `alloykit distill`, from Python.

    texts: labelled training texts, as a file, a `datasets.Dataset` or the recipe's `texts:` block. validation, evaluate: labelled
    texts of the same kinds. The rest is as in `amalgamate`. Raises AlloyError for anything to be mended.
    """
    recipe, tables = from_python(DistillRecipe, teachers, texts, student, method, output, evaluate, validation, blocks)
    return distill_recipe(recipe, tables=tables, overwrite=overwrite)
