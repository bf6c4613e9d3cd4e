"""Show what a recipe would run. Writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.blocks import Device
from alloykit.methods.defaults import AMALGAMATION
from alloykit.planning.plan_run import plan_recipe
from alloykit.recipe.recipe import Recipe
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


def plan(
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
    probe: bool = True,
    trust_python: bool = False,
) -> dict[str, Any]:
    """What `amalgamate` with the same arguments would run: labels, reads, steps, bytes, and the time. Writes nothing.

    Its `cache` and `overwrite` are no arguments here: the plan is that of a run without earlier outputs.
    probe: let every model read a few batches to predict the time. Without it no weights are loaded and no time is given.
    trust_python: import the functions that `python:` entries of `teachers` name.

    Returns `labels`, `texts`, `teachers`, `student_steps`, `seconds` and more, as `alloykit plan --json` prints them. AlloyError
    for everything that `amalgamate` would refuse before it starts.
    """
    with python_trusted(trust_python):
        recipe, tables = from_python(
            Recipe,
            teachers=teachers, texts=texts, student=student, method=method, output=output, evaluate=evaluate,
            validation=validation, labelled=labelled, labels=labels, training=training, inference=inference, generation=generation,
            report=report, engine=engine, device=device,
        )  # fmt: skip
        return plan_recipe(recipe, tables=tables, probe=probe)
