"""Fine-tune a teacher: an encoder and labelled texts, restricted to some labels, in; a classifier folder out."""

from __future__ import annotations

from pathlib import Path

from alloykit.data import Texts
from alloykit.recipe.models import TeachRecipe
from alloykit.stages.lock import locked
from alloykit.stages.teach_one import teach_one
from alloykit.stages.teaching import check_folder


def teach(recipe: TeachRecipe, *, data: Texts | None = None) -> Path:
    """Fine-tune and return the teacher's folder. A finished one with the same recipe is left as it is. AlloyError."""
    folder = Path(recipe.output)
    check_folder(folder, recipe, [recipe.model])
    with locked(folder):
        return teach_one(recipe, folder, data)
