"""Write report.html and the student's card of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.evaluation.answers import Answers
from alloykit.files import write_atomic
from alloykit.names import short
from alloykit.run_folder.file_names import METRICS
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.student_card import student_card


def write_report(run: RunFolder) -> Path:
    """report.html in the run folder and README.md beside the student, from the files of the run folder. Runs no model. AlloyError."""
    from alloykit.reporting import page

    view = page.load(run.folder)
    _renew(run.report_page, page.render(view))
    if run.has_student and view["metrics"]:
        _renew(run.student / "README.md", student_card(run, view))
    return run.report_page


def _renew(path: Path, text: str) -> None:
    """Write the file unless it already has this content."""
    content = text.encode()
    if path.is_dir():
        raise AlloyError(
            expected=f"a file {path}",
            got="a folder",
            hint="Remove it, and run the same command again: the file is written anew.",
        )
    if not path.is_file() or path.read_bytes() != content:
        write_atomic(path, content)


def answers_of(run: RunFolder) -> dict[str, Any] | None:
    """The judged classifier's predictions on the test texts: `ids`, `labels`, `right`. None without an evaluation. AlloyError."""
    metrics = run.metrics
    if metrics is None or "evaluation" not in metrics or not run.answers.exists():
        return None
    judged, names = metrics["evaluation"]["judged"], metrics["labels"]
    answers = Answers.load(run.answers)
    if judged not in answers.probabilities or answers.probabilities[judged].shape[-1] != len(names):
        raise AlloyError(
            expected=f"answers of '{short(judged)}' over {len(names)} labels in {run.answers}, as {METRICS} says",
            got="others",
            hint="Run `alloykit evaluate` on this run again.",
        )
    assert answers.ids is not None
    ids = answers.ids.numpy().tobytes()
    right = (answers.probabilities[judged].argmax(-1) == answers.labels).numpy()
    # By name: another run may have the labels in another order.
    return {"ids": ids, "labels": [names[i] for i in answers.labels.tolist()], "right": right}
