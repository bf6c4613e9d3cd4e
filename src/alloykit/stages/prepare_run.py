"""The first stage of a run: check everything before anything is written or computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.processes import is_first
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import GENERATE
from alloykit.run_folder.run_folder import check_run
from alloykit.stages.generated_texts import write_texts
from alloykit.stages.inputs import teachers_of
from alloykit.stages.prepare import prepare, prepare_without_texts, with_labelled_texts
from alloykit.stages.prepared import Prepared
from alloykit.stages.recipe_texts import TEXTS_FILE, generated_folder
from alloykit.training.continued_student import check_earlier_student


def prepare_run(
    recipe: Recipe,
    tables: Mapping[str, Texts],
    check: Callable[[Prepared], None] | None = None,
    *,
    overwrite: bool = False,
) -> Prepared:
    """The recipe with its texts, labelled texts, validation texts, test texts and generated texts, each read once.

    Texts of the `generation:` block are written first if they are missing; everything else is checked before that. AlloyError.
    """
    if texts_are_missing(recipe):
        checked = prepare_without_texts(recipe, tables)
        if check is not None:
            check(checked)
        check_run(checked.pinned, {"teachers": teachers_of(checked)}, overwrite=overwrite)
    written = _generated_texts(recipe, pick_device(recipe.device))
    texts = written if recipe.texts == GENERATE else tables.get("texts")
    prepared = with_labelled_texts(prepare(recipe, texts), tables)
    if recipe.student is not None and prepared.student_shape is not None:
        check_earlier_student(recipe.student, prepared.student_shape.layers)
    if check is not None:
        check(prepared)
    return replace(prepared, generated=written)


def texts_are_missing(recipe: Recipe) -> bool:
    """Whether texts must still be generated for this recipe."""
    return _generates(recipe) and not (generated_folder(recipe) / TEXTS_FILE).exists()


def _generates(recipe: Recipe) -> bool:
    return recipe.generation is not None and (recipe.texts == GENERATE or create(recipe.method).needs.generated_texts)


def _generated_texts(recipe: Recipe, device: str) -> Texts | None:
    """The texts of the `generation:` block, written now if they are missing; None for a recipe that uses none."""
    if recipe.generation is None or not _generates(recipe):
        return None
    path = generated_folder(recipe) / TEXTS_FILE
    if is_first():  # another process of the command reads what process 0 has written
        path = write_texts(
            recipe.teachers, recipe.labels, recipe.generation, generated_folder(recipe),
            device=recipe.engine.device(device, recipe.device), max_length=recipe.training.max_length, engine=recipe.engine,
        )  # fmt: skip
    return load_texts(TextsOptions(path=str(path), label="label"), want_labels=True)
