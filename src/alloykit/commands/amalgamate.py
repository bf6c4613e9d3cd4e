"""The main job: teachers and unlabelled texts in, one student over the union of their labels out."""

from __future__ import annotations

from pathlib import Path

from alloykit.blocks import Device
from alloykit.finished_runs.run import Run
from alloykit.methods.defaults import AMALGAMATION
from alloykit.recipe.recipe import Recipe
from alloykit.stages.amalgamation import run_recipe
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


def amalgamate(
    teachers: Teachers,
    texts: TextsLike,
    student: Student | None = None,
    method: MethodLike = AMALGAMATION,
    *,
    output: str | Path,
    evaluate: TextsLike | None = None,
    validation: TextsLike | None = None,
    labelled: TextsLike | None = None,
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
    """Distil teachers of different labels into one student. The same as `alloykit amalgamate`, from Python.

    teachers: folders or hub ids of classifiers, dictionaries as in the recipe, or teachers in memory: (model, tokenizer), a pipeline of
    transformers, an `alloykit.Teacher`, a fitted classifier of scikit-learn. texts: a file, a folder or a hub id, a list of
    strings or pairs, a `datasets.Dataset`, the recipe's `texts:` block, or "generate". student: the encoder that the student
    begins as; in a dictionary also its layers; or (model, tokenizer). method: a name, or a dictionary with its options. output: the run folder.
    evaluate, validation, labelled: labelled texts of the same kinds as `texts`, or the recipe's blocks.
    labels, training, inference, generation, report, engine: the recipe's blocks of these names, as dictionaries or as the pydantic
    models. device: auto, cpu, cuda or mps. cache: where the teachers' outputs are kept, if not in the run folder.
    overwrite: replace the student of another recipe. trust_python: import the functions that `python:` entries of `teachers` name.

    Returns the finished run: `.student` (a folder), `.metrics`, `.predict`, `.evaluate` and `.report`. A second call with the same
    arguments goes on where the first one stopped. AlloyError for invalid arguments.
    """
    with python_trusted(trust_python):
        recipe, tables = from_python(
            Recipe,
            teachers=teachers, texts=texts, student=student, method=method, output=output, evaluate=evaluate,
            validation=validation, labelled=labelled, labels=labels, training=training, inference=inference, generation=generation,
            report=report, engine=engine, device=device,
        )  # fmt: skip
        return Run(run_recipe(recipe, tables=tables, cache=cache, overwrite=overwrite))
