"""Write report.html and the student's card, or compare several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.evaluation.answers import Answers
from alloykit.files import write_atomic
from alloykit.jobs.run import Run
from alloykit.methods.registry import methods


def write_report(run: Run) -> Path:
    """report.html in the run folder and README.md beside the student, from what the run folder holds; runs no model."""
    from alloykit.report import card, page

    view = page.load(run.folder)
    _renew(run.report, page.render(view))
    if run.has_student and view["metrics"]:
        name = view["metrics"]["method"]["name"]
        method = methods()[name]
        about = {"name": name, "title": method.title, "citation": method.citation or method.reference}
        specs = view["recipe"].get("teachers", [])
        teachers = [
            {
                "name": teacher,
                "model": spec["model"],
                "revision": spec.get("revision"),
                "licence": card.licence(spec["model"]),
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
    if len(runs) == 1:
        path = write_report(runs[0])
        if output is not None:
            write_atomic(Path(output), path.read_text(encoding="utf-8"))
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
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomic(path, text)


def _answers(run: Run) -> dict[str, Any] | None:
    judged = run.metrics.get("evaluation", {}).get("judged")
    if judged is None or not run.answers.exists():
        return None
    import safetensors.torch

    answers = Answers.load(run.answers)
    ids = safetensors.torch.load_file(run.answers)["ids"].numpy().tobytes()
    right = (answers.probabilities[judged].argmax(-1) == answers.labels).numpy()
    names = run.metrics["labels"]  # by name: another run may have its teachers, and so its labels, in another order
    return {"ids": ids, "labels": [names[i] for i in answers.labels.tolist()], "right": right}
