"""A recipe of `distill` has the keys of one of `amalgamate`: `plan`, `doctor` and `sweep`, which get the file alone, take it for the latter."""

from __future__ import annotations

from alloykit.methods.registry import create
from alloykit.recipe.recipe import DistillRecipe
from alloykit.stages.prepared import Prepared


def distill_hints(prepared: Prepared) -> list[str]:
    """What to write into a recipe that seems to be one of `distill`: it has no `method:`, whose default is another one there, its teachers know the same
    labels, and its texts have labels."""
    recipe, default = prepared.recipe, DistillRecipe.model_fields["method"].default["name"]
    same = len({frozenset(labels) for labels in prepared.space.teachers}) == 1
    if "method" in recipe.model_fields_set or not same or getattr(recipe.texts, "label", None) is None:
        return []
    return [
        f"this is for `alloykit amalgamate`, whose method is {create(recipe.method).name} if the recipe names none. "
        f"For `alloykit distill` write its method into the recipe: `method: {default}`"
    ]
