"""What `teach` reads: the recipe with its defaults, the texts with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.names import clean_names, is_anonymous, quoted
from alloykit.progress import warn_line
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.stages.prepare import student_shape_of
from alloykit.stages.recipe_texts import read
from alloykit.teaching.teaching_folder import check_folder, check_texts, name_of
from alloykit.training.dataset import held_out_size
from alloykit.training.schedule import required, with_defaults
from alloykit.training.training_options import StudentSpec

Teaching = TypeVar("Teaching", TeachRecipe, TogetherRecipe)


def checked_inputs(
    recipe: Teaching, encoders: Sequence[StudentSpec], folder: Path, data: Texts | None
) -> tuple[Teaching, Texts, Texts | None]:
    """The recipe with its defaults, the training texts, and the validation texts if there are any. data: the training texts, if they are in
    memory. AlloyError if the folder holds results of another recipe, of other encoders or of other texts."""
    check_folder(folder, recipe, encoders)  # checked again: another process may have finished before
    texts = _restrict(data if data is not None else read(recipe.data, want_labels=True), recipe.labels)
    validation = None
    if recipe.validation is not None:
        validation = _restrict(read(recipe.validation.data, want_labels=True), recipe.labels)
    check_texts(folder, texts, validation)
    _warn_of_numbers(recipe, texts)
    recipe = _with_defaults(recipe, texts, encoders)
    check_folder(folder, recipe, encoders)
    return recipe, texts, validation


def label_space(recipe: Teaching, folder: Path, texts: Texts) -> LabelSpace:
    """The labels of the new teacher: those of the recipe, else all labels of the texts."""
    return LabelSpace.union([recipe.labels or sorted(set(texts.table["label"]))], teacher_names=[name_of(folder)])


def _warn_of_numbers(recipe: Teaching, texts: Texts) -> None:
    """Numbers may be positions in a list of names that is elsewhere. Other commands refuse a teacher with such labels."""
    found = sorted(set(texts.table["label"]))
    if recipe.labels is None and is_anonymous(found):
        warn_line(
            f"the labels of the texts are {quoted(found)}, and the teacher gets them as names. `amalgamate` asks for real ones. "
            "If they are positions, name them in order: `data: {label_names: [bug, login]}`"
        )


def _with_defaults(recipe: Teaching, texts: Texts, encoders: Sequence[StudentSpec]) -> Teaching:
    """The recipe with the default learning rate and number of epochs where it sets none. For several encoders the lowest rate is used."""
    options, labels = recipe.training, len(set(texts.table["label"]))
    n = len(texts) - (held_out_size(len(texts), options.held_out) if recipe.validation is None else 0)
    shapes = [student_shape_of(spec) for spec in encoders]
    each = [with_defaults(options, n, labels, shape.layers, shape.hidden_size) for shape in shapes]
    return recipe.model_copy(update={"training": min(each, key=lambda o: required(o.learning_rate, "learning_rate"))})


def _restrict(texts: Texts, labels: list[str] | None) -> Texts:
    """Only the texts of these labels. AlloyError for a label that no text has."""
    if labels is None:
        return texts
    # The labels of the texts have no spaces at their ends either.
    labels = list(clean_names(labels, "the recipe's `labels:`"))
    found = list(texts.table["label"])
    if missing := [label for label in labels if label not in set(found)]:
        raise AlloyError(
            expected=f"texts of the labels {quoted(labels)}",
            got=f"none with {quoted(missing)}",
            hint=f"The data has {quoted(sorted(set(found)))}.",
        )
    keep = [i for i, label in enumerate(found) if label in labels]
    return texts.select(keep)
