"""Names of the compared runs, their verdicts, and the differences of their recipes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, parse, rows, section, table_in
from toyruns import Runs, copied

from alloykit.commands.report import report
from alloykit.errors import AlloyError
from alloykit.reporting import page
from alloykit.reporting.compare import recipe_differences
from alloykit.reporting.verdict import verdict

Pages = Callable[[str], Node]


def test_verdicts_stand_under_the_runs_names(page_of: Pages, runs: Runs) -> None:
    nodes = section(page_of("comparison"), "Summary of each run")
    assert [node.words for node in nodes if node.tag == "h3"] == ["soft", "vanilla", "untested"]
    boxes = [node for node in nodes if node.tag == "section"]
    for box, folder in zip(boxes, (runs.soft, runs.vanilla, runs.untested), strict=True):
        assert box.one("p").words == verdict(page.load(folder)["metrics"]).headline


def test_differences_are_the_keys_that_differ() -> None:
    one: dict[str, Any] = {"a": 1, "b": {"c": [1, 2], "d": {"e": None}}, "list": [{"x": 1}, {"x": 2}], "output": "one"}
    two: dict[str, Any] = {"a": 1, "b": {"c": [1, 3], "d": {"e": None}, "f": True}, "list": [{"x": 1}], "output": "two"}
    assert recipe_differences([one, two]) == [
        ("b.c", ["1, 2", "1, 3"]),
        ("list.2.x", ["2", "–"]),
        ("b.f", ["–", "True"]),
    ]
    assert recipe_differences([one, one]) == []
    assert recipe_differences([one, one, two])[0] == ("b.c", ["1, 2", "1, 2", "1, 3"])


def test_differences_of_runs(page_of: Pages, runs: Runs) -> None:
    recipes = [page.load(folder)["recipe"] for folder in (runs.soft, runs.vanilla, runs.untested)]
    soft, vanilla = (recipe["method"] for recipe in recipes[:2])
    keys = {f"method.{key}" for key in {**soft, **vanilla} if soft.get(key, "–") != vanilla.get(key, "–")} | {
        "report.show_texts"
    }
    keys |= {"evaluate"} | {f"evaluate.data.{key}" for key in recipes[0]["evaluate"]["data"]} | {"evaluate.reference"}
    head, *body = rows(table_in(page_of("comparison"), "Differences of the recipes"))
    assert head == ["key", "soft", "vanilla", "untested"]
    assert {row[0] for row in body} == keys
    assert ["method.name", "muka", "vanilla_kd", "muka"] in body


def test_runs_that_do_not_differ(runs: Runs, tmp_path: Path) -> None:
    places = [copied(runs.untested, tmp_path / name / "run") for name in "ab"]
    comparison = parse(report(places, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [node.words for node in section(comparison, "Differences of the recipes")] == ["The recipes do not differ."]
    assert [row[0] for row in rows(table_in(comparison, "Accuracy"))[1:]] == ["a/run", "b/run"], (
        "folders of the same name have their parents' names too"
    )


def test_one_run_twice_is_a_mistake(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs.soft)
    for again in (runs.soft, runs.soft / "student" / "..", tmp_path / "link"):
        with pytest.raises(AlloyError, match="the same one twice"):
            report([runs.soft, again], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
