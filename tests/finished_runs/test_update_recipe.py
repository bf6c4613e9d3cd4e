"""The recipe of an update."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from alloykit.finished_runs.update_recipe import Changes, updated_recipe
from alloykit.recipe.models import Recipe, parse


def test_a_limit_of_the_run_does_not_hold_for_texts_that_are_added() -> None:
    values = {"teachers": ["a"], "texts": {"path": "a.csv", "limit": 3, "more": ["b.csv"]}, "output": "x"}
    run: Any = SimpleNamespace(recipe=parse(values, Recipe), has_student=False, folder="run")
    texts: Any = updated_recipe(run, Changes(add_texts=["new.csv"]), Path("y")).texts
    assert [place.limit for place in (texts, *texts.more)] == [3, 3, None]
