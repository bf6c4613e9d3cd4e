"""The toy runs, and their pages as trees."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable

import pytest
from htmltree import Node, parse
from shared import whole_run
from toyruns import Runs, toy_runs

from alloykit.commands.report import report


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return toy_runs(whole_run(tmp_path_factory))


@pytest.fixture(scope="session")
def page_of(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Node]:
    """report.html of a toy run, of an odd one, or of one that was stopped at once ("half"); or the "comparison" of the three."""

    @functools.cache
    def read(name: str) -> Node:
        folder = runs.of(name)
        if name == "half":
            folder = tmp_path_factory.mktemp("half")
            shutil.copy(runs.soft / "recipe.yaml", folder)
            report([folder])
        if name == "comparison":
            page = report([runs.soft, runs.vanilla, runs.untested], tmp_path_factory.mktemp("compared") / "page.html")
            return parse(page.read_text(encoding="utf-8"))
        return parse((folder / "report.html").read_text(encoding="utf-8"))

    return read
