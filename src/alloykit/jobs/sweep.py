"""Only the knowledge: to compute it beforehand, or to spread it over several machines."""

from __future__ import annotations

from pathlib import Path

from alloykit.jobs.prepare import check_labelled, prepare
from alloykit.jobs.run import check_output
from alloykit.knowledge.sweep import sweep
from alloykit.progress import say
from alloykit.recipe import Recipe


def sweep_recipe(recipe: Recipe, *, knowledge: str | Path | None = None, part: tuple[int, int] = (0, 1)) -> None:
    """Fill the knowledge store of a recipe. `part` (i, n): only every n-th shard from the i-th."""
    prepared = prepare(recipe)
    check_labelled(prepared)
    check_output(prepared.output)
    store = prepared.store(knowledge)
    sweep(prepared.infos, prepared.texts, store, prepared.sweep_options(part))
    say(f"knowledge is in {store.storage.url}")
