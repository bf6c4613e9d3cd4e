"""What would run. Writes nothing."""

from __future__ import annotations

from typing import Any

from alloykit.recipe.models import GENERATE, Recipe
from alloykit.stages.planning import describe_generation, describe_plan
from alloykit.stages.prepare import prepare, rehearse, with_labelled_texts
from alloykit.stages.prepare_run import texts_are_missing


def plan(recipe: Recipe, *, probe: bool = True) -> dict[str, Any]:
    """Label space, reads, bytes on disk and time. With `probe`, every model reads a few batches to predict the time;
    without, no weights are loaded and no time is given. AlloyError for everything that `amalgamate` would refuse before it
    starts. Texts that are still to be written are counted, and nothing can be said of what comes after them."""
    if texts_are_missing(recipe):
        rehearsed = rehearse(recipe)
        generation = {"generation": describe_generation(rehearsed)}
        if recipe.texts == GENERATE:
            about = {"method": recipe.method, "labels": list(rehearsed.space.names), "output": recipe.output}
            return about | generation
    else:
        generation = {}
    prepared = with_labelled_texts(prepare(recipe))
    return describe_plan(prepared, recipe.training, probe=probe) | generation
