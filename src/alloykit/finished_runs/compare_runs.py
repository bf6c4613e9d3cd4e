"""Compare several runs on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.files import write_output
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.write_report import answers_of


def compare_runs(runs: Sequence[RunFolder], output: Path) -> Path:
    """Write the page that compares these runs, and return its path. AlloyError for an unfinished run, and for one that is named twice."""
    from alloykit.reporting import compare, page

    views = [page.load(run.folder) | {"name": name} for run, name in zip(runs, _distinct_names(runs), strict=True)]
    write_output(output, compare.render_comparison(views, [answers_of(run) for run in runs]))
    return output


def _distinct_names(runs: Sequence[RunFolder]) -> list[str]:
    """The folders' names, with as many parents as it takes to tell them apart."""
    parts = [run.folder.resolve().parts for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    raise AlloyError(expected="different run folders", got="the same one twice", hint="Name each run once.")
