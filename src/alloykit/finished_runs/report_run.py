"""Write the report of a run."""

from __future__ import annotations

from pathlib import Path

from alloykit.files import write_output
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.questions_report import write_questions_report
from alloykit.stages.write_report import write_report


def report_run(run: RunFolder, output: Path | None = None) -> Path:
    """Write report.html and the student's card again, from the files of the run folder. output: a copy of the page. Returns the page's path,
    or that of the copy. AlloyError for an unfinished run."""
    with locked(run.folder):
        page = write_questions_report(run) if run.questions else write_report(run)
        if output is None:
            return page
        write_output(output, page.read_bytes())
        return output
