"""Compute only the teachers' outputs, in advance or on several machines."""

from __future__ import annotations

from pathlib import Path

from alloykit.blocks import Device
from alloykit.errors import AlloyError
from alloykit.methods.defaults import AMALGAMATION
from alloykit.names import shown
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
from alloykit.stages.sweeping import sweep_recipe
from alloykit.teachers.trust import python_trusted


def sweep(
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
    part: tuple[int, int] = (1, 1),
    trust_python: bool = False,
) -> str:
    """Let every teacher read every text, and keep its outputs for a later `amalgamate` with the same arguments.

    cache: where to keep them, if not in the run folder `output`. part: (i, n) with i from 1 to n: only one of n parts of the
    texts, to spread the work over machines. trust_python: import the functions that `python:` entries of `teachers` name.
    The same as `alloykit sweep`.

    Returns where the outputs are: a folder or a URL. AlloyError for invalid arguments.
    """
    if (
        not isinstance(part, tuple)
        or len(part) != 2
        or not all(isinstance(number, int) for number in part)
        or not 1 <= part[0] <= part[1]
    ):
        raise AlloyError(expected="`part` as (i, n) with i from 1 to n", got=shown(part))
    with python_trusted(trust_python):
        recipe, tables = from_python(
            Recipe,
            teachers=teachers, texts=texts, student=student, method=method, output=output, evaluate=evaluate,
            validation=validation, labelled=labelled, labels=labels, training=training, inference=inference, generation=generation,
            report=report, engine=engine, device=device,
        )  # fmt: skip
        return sweep_recipe(recipe, tables=tables, cache=cache, part=(part[0] - 1, part[1]))
