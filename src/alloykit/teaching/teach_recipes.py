"""Run the recipes of `teach`, each in its own output folder."""

from __future__ import annotations

from pathlib import Path

from alloykit.data import Texts
from alloykit.progress import logged_to
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.run_folder.file_names import LOG
from alloykit.run_folder.lock import locked
from alloykit.teaching.teach_one import teach_one
from alloykit.teaching.teach_several import teach_several
from alloykit.teaching.teaching_folder import MADE_OF, check_folder


def teach_recipe(recipe: TeachRecipe, *, data: Texts | None = None) -> Path:
    """Fine-tune and return the teacher's folder. A finished one with the same recipe is left as it is.

    data: the training texts, if they are in memory. AlloyError.
    """
    folder = Path(recipe.output)
    check_folder(folder, recipe, [recipe.model])
    with locked(folder), logged_to(folder / LOG, MADE_OF):
        return teach_one(recipe, folder, data)


def teach_together_recipe(recipe: TogetherRecipe) -> list[Path]:
    """Fine-tune and return the teachers' folders, in the recipe's order. Finished ones are left as they are. AlloyError."""
    folder = Path(recipe.output)
    check_folder(folder, recipe, recipe.models)
    with locked(folder), logged_to(folder / LOG, MADE_OF):
        return teach_several(recipe, folder)
