"""The main job for several questions: each has teachers of its own, and one student answers all of them."""

from __future__ import annotations

from pathlib import Path

from alloykit.blocks import Device
from alloykit.data import TextsOptions
from alloykit.finished_runs.run import Run
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
from alloykit.stages.questions_run import run_questions
from alloykit.teachers.trust import python_trusted


def amalgamate_questions(
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
    cache: str | Path | None = None,
    overwrite: bool = False,
    trust_python: bool = False,
) -> Run:
    """Distil the teachers of several questions into one student that answers all questions in one pass. The same as `alloykit amalgamate` with
    `questions:` in the recipe, from Python.

    questions: by name, `teachers`, and if needed `method`, `labels` and `column`, as in the recipe. evaluate, validation: files of labelled texts
    with one column for each question, named like the question or by its `column`. All other arguments as for `amalgamate`.

    Returns the finished run. `.predict` answers all questions; `.questions` has the run folder of each question, with its metrics, report and student.
    AlloyError for invalid arguments.
    """
    with python_trusted(trust_python):
        recipe, tables = questions_from_python(
            questions=questions, texts=texts, student=student, output=output, evaluate=evaluate, validation=validation,
            training=training, inference=inference, report=report, engine=engine, device=device,
        )  # fmt: skip
        return Run(run_questions(recipe, tables=tables, cache=cache, overwrite=overwrite))
