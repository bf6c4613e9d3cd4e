"""Teachers of one task and labelled texts in, one fast student out."""

from __future__ import annotations

from pathlib import Path

from alloykit.blocks import Device
from alloykit.finished_runs.run import Run
from alloykit.methods.defaults import DISTILLATION
from alloykit.recipe.recipe import DistillRecipe
from alloykit.stages.distillation import distill_recipe
from alloykit.stages.from_arguments import (
    Engine,
    Generation,
    Inference,
    Labels,
    MethodLike,
    Report,
    Student,
    Teachers,
    TextsLike,
    Training,
    from_python,
)
from alloykit.teachers.trust import python_trusted


def distill(
    teachers: Teachers,
    texts: TextsLike,
    student: Student | None = None,
    method: MethodLike = DISTILLATION,
    *,
    output: str | Path,
    evaluate: TextsLike | None = None,
    validation: TextsLike | None = None,
    labels: Labels = None,
    training: Training = None,
    inference: Inference = None,
    generation: Generation = None,
    report: Report = None,
    engine: Engine = None,
    device: Device = "auto",
    cache: str | Path | None = None,
    overwrite: bool = False,
    trust_python: bool = False,
) -> Run:
    """Distil teachers that know the same labels into one student. The same as `alloykit distill`, from Python.

    texts: labelled training texts, as a file, a folder or a hub id, a list of dictionaries with `text` and `label`, a
    `datasets.Dataset` or the recipe's `texts:` block. The other arguments and the result are those of `amalgamate`. AlloyError for
    invalid arguments, and for a method or teachers that do not fit.
    """
    with python_trusted(trust_python):
        recipe, tables = from_python(
            DistillRecipe,
            teachers=teachers, texts=texts, student=student, method=method, output=output, evaluate=evaluate,
            validation=validation, labels=labels, training=training, inference=inference, generation=generation,
            report=report, engine=engine, device=device,
        )  # fmt: skip
        return Run(distill_recipe(recipe, tables=tables, cache=cache, overwrite=overwrite))
