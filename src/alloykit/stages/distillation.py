"""`distill`: the stages of an amalgamation, with checks that all teachers have the same labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.methods.registry import create, methods
from alloykit.names import quoted
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.prepared import Prepared


def distill_recipe(
    recipe: Recipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
) -> RunFolder:
    """Run a recipe of `distill`. Finished parts in the output folder are reused. AlloyError."""
    check_one_task(recipe)
    return run_recipe(recipe, tables=tables, cache=cache, overwrite=overwrite, check=check_teachers)


def check_one_task(recipe: Recipe) -> None:
    """AlloyError, before texts are read, for a method that joins different labels."""
    method = create(recipe.method)
    if not method.one_task:
        fit = sorted(name for name, known in methods().items() if known.one_task)
        raise AlloyError(
            expected="a method for teachers of one task, for `alloykit distill`",
            got=f"'{method.name}', which joins teachers of different labels",
            hint=f"Take one of {', '.join(fit)}; or run it with `alloykit amalgamate`.",
        )


def check_teachers(prepared: Prepared) -> None:
    """AlloyError unless all teachers know the same labels."""
    first, *rest = (set(labels) for labels in prepared.space.teachers)
    for name, labels in zip(prepared.names[1:], rest, strict=True):
        if labels != first:
            raise AlloyError(
                expected=f"teachers that know the same labels ({quoted(sorted(first))})",
                got=f"'{name}' with {quoted(sorted(labels))}",
                hint="Give real names to anonymous labels (`teachers: [{model: …, labels: {LABEL_0: …}}]`) or map them with "
                "`labels: {aliases: …}`. For teachers of different labels there is `alloykit amalgamate`.",
            )
