"""The page on the report names every key of metrics.json."""

from __future__ import annotations

import re

from pages import ROOT

from alloykit.run_folder.metrics import Metrics

OF_TRAINING = {"learning"}  # written by the run; the type names only what other code reads


def test_the_page_lists_the_keys_of_metrics_json() -> None:
    page = (ROOT / "docs" / "guide" / "report.md").read_text(encoding="utf-8")
    table = page.split("| key of `metrics.json` |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(Metrics.__annotations__) | OF_TRAINING


def test_the_quick_start_lists_the_extras() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "guide" / "quick-start.md").read_text(encoding="utf-8")
    table = page.split("| extra |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(extras) - {"docs", "dev", "optional"}
