"""Labels that an update would lose although labelled texts have them."""

from __future__ import annotations

from alloykit.data.table import BETWEEN_LABELS
from alloykit.errors import AlloyError
from alloykit.names import quoted
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import InMemory
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.prepare import teachers_and_labels
from alloykit.stages.recipe_texts import read, salted


def refuse_lost_labels(run: RunFolder, recipe: Recipe) -> None:
    """AlloyError if labelled texts of the earlier run have a label that only a removed teacher knew."""
    metrics = run.metrics
    assert metrics is not None
    _, space = teachers_and_labels(recipe.teachers, recipe.labels)
    lost = set(metrics["labels"]) - set(space.names)
    for key in ("evaluate", "validation", "labelled") if lost else ():
        block = getattr(recipe, key)
        if block is None or isinstance(block.data, InMemory):
            continue
        cells = read(salted(block.data, recipe), want_labels=True).table["label"]
        labels = {name for cell in cells for name in cell.split(BETWEEN_LABELS)}
        if unknown := sorted(lost & {recipe.labels.aliases.get(name, name) for name in labels}):
            raise AlloyError(
                expected=f"texts in `{key}:` with labels that a remaining teacher knows",
                got=quoted(unknown[:5]) + (" and more" if unknown[5:] else ""),
                hint=f"Name a file without them, `-o {key}.data.path=FILE`, or leave the texts out, `-o {key}=null`.",
            )
