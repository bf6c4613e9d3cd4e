"""Write report.html and the student's card, or compare several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.finished_runs.compare_runs import compare_runs
from alloykit.finished_runs.report_run import report_run
from alloykit.paths import user_path
from alloykit.run_folder.output_folder import check_file
from alloykit.run_folder.run_folder import RunFolder, files_to_keep, folder_of, require_run_folder

COMPARISON = "comparison.html"


def report(runs: str | Path | RunFolder | Sequence[str | Path | RunFolder], output: str | Path | None = None) -> Path:
    """Write one page that says whether to trust a run's student, or that compares runs. The same as `alloykit report`, from Python.

    runs: one run or its folder, or a list of them. output: where to write; report.html in the run, or comparison.html in the
    current folder if not given. Returns the page's path. AlloyError for a folder that is no run, and for an unfinished one.
    """
    given = [runs] if isinstance(runs, (str, Path, RunFolder)) or not isinstance(runs, Sequence) else runs
    folders = [RunFolder(folder_of(run)) for run in given]
    if not folders:
        raise AlloyError(expected="a run folder, or several", got="an empty list")
    for run in folders:
        require_run_folder(run.folder)
    page = None if output is None else user_path(output)
    if page is not None:
        check_file(page, [place for run in folders for place in files_to_keep(run.folder)])
    if len(folders) == 1:
        return report_run(folders[0], page)
    return compare_runs(folders, page or Path(COMPARISON))
