"""Show what a recipe with several questions would run. Writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.blocks import Device
from alloykit.data import TextsOptions
from alloykit.planning.plan_run import plan_several
from alloykit.recipe.typed import TextsDict
from alloykit.stages.from_arguments import (
    Engine,
    Inference,
    Questions,
    Report,
    Student,
    TextsLike,
    Training,
    questions_from_python,
)
from alloykit.teachers.trust import python_trusted


def plan_questions(
    questions: Questions,
    texts: TextsLike,
    student: Student,
    *,
    output: str | Path,
    evaluate: str | Path | TextsOptions | TextsDict | None = None,
    validation: str | Path | TextsOptions | TextsDict | None = None,
    training: Training = None,
    inference: Inference = None,
    report: Report = None,
    engine: Engine = None,
    device: Device = "auto",
    probe: bool = True,
    trust_python: bool = False,
) -> dict[str, Any]:
    """What `amalgamate_questions` with the same arguments would run. The same as `alloykit plan` with `questions:` in the recipe. Writes nothing.

    probe: let every model read a few batches to predict the time. Without it no weights are loaded and no time is given.

    Returns `questions`, by name what `plan` gives, and what all have in common: `labels`, `student_steps`, `seconds` and more, as
    `alloykit plan --json` prints them. AlloyError for everything that `amalgamate_questions` would refuse before it starts.
    """
    with python_trusted(trust_python):
        recipe, tables = questions_from_python(
            questions=questions, texts=texts, student=student, output=output, evaluate=evaluate, validation=validation,
            training=training, inference=inference, report=report, engine=engine, device=device,
        )  # fmt: skip
        return plan_several(recipe, tables=tables, probe=probe)
