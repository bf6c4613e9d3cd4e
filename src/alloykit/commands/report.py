"""Write report.html and the student's card, or compare several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.evaluation.answers import Answers
from alloykit.files import write_atomic
from alloykit.methods.registry import methods
from alloykit.names import short, unknown
from alloykit.run_files import METRICS, RECIPE, recipe_of
from alloykit.stages.lock import locked
from alloykit.stages.output_folder import check_file
from alloykit.stages.run_folder import Run


def write_report(run: Run) -> Path:
    """report.html in the run folder and README.md beside the student, from what the run folder holds; runs no model. AlloyError."""
    from alloykit.report import card, page

    view = page.load(run.folder)
    _renew(run.report, page.render(view))
    if run.has_student and view["metrics"]:
        name = view["metrics"]["method"]["name"]
        if name not in methods():
            raise unknown(
                f"the run's method, which {run.folder / METRICS} names, to be installed", name, list(methods())
            )
        method = methods()[name]
        about = {"name": name, "title": method.title, "citation": method.citation or method.reference}
        specs = recipe_of(run.folder).teachers
        if len(specs) != len(view["metrics"]["teachers"]):
            raise AlloyError(
                expected=f"the {len(specs)} teachers of {run.folder / RECIPE} in {run.folder / METRICS}",
                got=f"{len(view['metrics']['teachers'])}",
                hint="Run the recipe again with the same `output`: finished parts are kept.",
            )
        teachers = [
            {
                "name": teacher,
                "model": spec.model,
                "revision": spec.revision,
                "licence": card.licence(spec.model),
                "labels": labels,
            }
            for (teacher, labels), spec in zip(view["metrics"]["teachers"].items(), specs, strict=True)
        ]
        _renew(run.student / "README.md", card.card(view, teachers, about))
    return run.report


def report(folders: Sequence[str | Path], output: str | Path | None = None) -> Path:
    """The `report` command: one run folder gets its report.html anew; several are compared on one page (`output`)."""
    runs = [Run(Path(folder)) for folder in folders]
    for run in runs:
        if not (run.folder / "recipe.yaml").exists():
            raise AlloyError(
                expected="a run folder",
                got=f"'{run.folder}'" + ("" if run.folder.exists() else ", which does not exist"),
                hint="Name the `output` of a recipe that has been run.",
            )
    if output is not None:
        check_file(Path(output))
    if len(runs) == 1:
        with locked(runs[0].folder):
            path = write_report(runs[0])
            if output is not None:
                write_atomic(Path(output), path.read_bytes())
        return Path(output) if output is not None else path
    from alloykit.report import compare, page

    views = [page.load(run.folder) | {"name": name} for run, name in zip(runs, distinct_names(runs), strict=True)]
    out = Path(output) if output is not None else Path("comparison.html")
    write_atomic(out, compare.render_comparison(views, [_answers(run) for run in runs]))
    return out


def distinct_names(runs: Sequence[Run]) -> list[str]:
    """The folders' names, with as many parents as it takes to tell them apart."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    raise AlloyError(expected="different run folders", got="the same one twice", hint="Name each run once.")


def _renew(path: Path, text: str) -> None:
    """Write it unless it is there already, word for word."""
    content = text.encode()
    if path.is_dir():
        raise AlloyError(
            expected=f"a file {path}",
            got="a folder",
            hint="Remove it, and run the same command again: the file is written anew.",
        )
    if not path.is_file() or path.read_bytes() != content:
        write_atomic(path, content)


def _answers(run: Run) -> dict[str, Any] | None:
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
    # By name: another run may have its teachers, and so its labels, in another order.
    return {"ids": ids, "labels": [names[i] for i in answers.labels.tolist()], "right": right}
