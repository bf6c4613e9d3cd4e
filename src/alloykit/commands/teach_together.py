"""Fine-tune several encoders at once under one head, so that their states agree (MT-BERT §2.1). Each becomes a teacher's folder."""

from __future__ import annotations

from pathlib import Path

from alloykit.data import Texts
from alloykit.recipe.models import TogetherRecipe
from alloykit.stages.lock import locked
from alloykit.stages.teach_several import teach_several
from alloykit.stages.teaching import check_folder


def teach_together(recipe: TogetherRecipe, *, data: Texts | None = None) -> list[Path]:
    """Fine-tune and return the teachers' folders, in the recipe's order. Finished ones are left as they are. AlloyError."""
    folder = Path(recipe.output)
    check_folder(folder, recipe, recipe.models)
    with locked(folder):
        return teach_several(recipe, folder, data)
