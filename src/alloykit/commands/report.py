"""Write report.html and the student's card, or compare several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.files import write_output
from alloykit.run_folder.lock import locked
from alloykit.run_folder.output_folder import check_file
from alloykit.run_folder.run_folder import RunFolder, folder_of, require_run_folder
from alloykit.stages.questions_report import write_questions_report
from alloykit.stages.write_report import answers_of, write_report


def report(runs: str | Path | RunFolder | Sequence[str | Path | RunFolder], output: str | Path | None = None) -> Path:
    """Write one page that says whether to trust a run's student, or that compares runs. The same as `alloykit report`, from Python.

    runs: one run or its folder, or a list of them. output: where to write; report.html in the run, or comparison.html in the
    current folder if not given. Returns the page's path. AlloyError for a folder that is no run, and for an unfinished one.
    """
    given = [runs] if isinstance(runs, (str, Path, RunFolder)) or not isinstance(runs, Sequence) else runs
    return _report([RunFolder(folder_of(run)) for run in given], output)


def _report(runs: Sequence[RunFolder], output: str | Path | None) -> Path:
    if not runs:
        raise AlloyError(expected="a run folder, or several", got="an empty list")
    for run in runs:
        require_run_folder(run.folder)
    if output is not None:
        check_file(Path(output))
    if len(runs) == 1:
        with locked(runs[0].folder):
            path = write_questions_report(runs[0]) if runs[0].questions else write_report(runs[0])
            if output is not None:
                write_output(Path(output), path.read_bytes())
        return Path(output) if output is not None else path
    from alloykit.reporting import compare, page

    views = [page.load(run.folder) | {"name": name} for run, name in zip(runs, distinct_names(runs), strict=True)]
    out = Path(output) if output is not None else Path("comparison.html")
    write_output(out, compare.render_comparison(views, [answers_of(run) for run in runs]))
    return out


def distinct_names(runs: Sequence[RunFolder]) -> list[str]:
    """The folders' names, with as many parents as it takes to tell them apart."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    raise AlloyError(expected="different run folders", got="the same one twice", hint="Name each run once.")
