"""Pages of all sorts: of the toy runs of tests/reporting, with many labels, with long names, and a comparison."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "reporting"))

from shared import whole_run
from toyruns import renamed, toy_runs

from alloykit.commands.report import report
from alloykit.reporting import page

LONG = {
    "refund": "refund" * 14,
    "billing": "billing-of-the-whole-company-" * 3,
    "charge": "a label of many short words " * 4,
}


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    runs = toy_runs(whole_run(tmp_path_factory))
    folder = tmp_path_factory.mktemp("pages")
    long = page.load(runs.soft)
    long |= {"metrics": renamed(long["metrics"], LONG), "name": "runs/" + "name" * 30}
    long["metrics"]["student"]["least_certain"][0]["text"] = "x" * 400
    long["metrics"]["warnings"] = ["a path: /" + "folder/" * 40, "`code: " + "y" * 200 + "`"]
    (folder / "long.html").write_text(page.render(long), encoding="utf-8")
    found = [
        runs.soft / "report.html",
        runs.untested / "report.html",
        runs.odd("thirty") / "report.html",
        folder / "long.html",
    ]
    names = ("tested", "untested", "many labels", "long names", "comparison")
    return dict(zip(names, [*found, report([runs.soft, runs.vanilla, runs.untested], folder / "c.html")], strict=True))
