"""Fine-tune a teacher: an encoder and labelled texts, restricted to some labels, in; a classifier folder out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alloykit.blocks import Device
from alloykit.names import refuse_single
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.stages.from_arguments import Student, TextsLike, Training, from_python
from alloykit.teaching.teach_recipes import teach_recipe


def teach(
    model: Student,
    data: TextsLike,
    *,
    output: str | Path,
    labels: Sequence[str] | None = None,
    validation: TextsLike | None = None,
    training: Training = None,
    device: Device = "auto",
) -> Path:
    """Fine-tune one encoder into a teacher. The same as `alloykit teach`, from Python.

    model: the encoder. data: labelled texts, as a file, a folder or a hub id, a list of dictionaries with `text` and `label`, a
    `datasets.Dataset` or the recipe's `data:` block. labels: only texts of these; all if not given. validation: labelled texts in
    a file, to select the checkpoint by; a share of the data if not given. output: the teacher's folder.

    Returns that folder. A finished one with the same arguments is left as it is. AlloyError for invalid arguments.
    """
    refuse_single(labels, "labels")
    recipe, tables = from_python(
        TeachRecipe, model=model, data=data, output=output, labels=None if labels is None else list(labels),
        validation=validation, training=training, device=device,
    )  # fmt: skip
    return teach_recipe(recipe, data=tables.get("data"))
