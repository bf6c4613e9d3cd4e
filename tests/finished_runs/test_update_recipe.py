"""The recipe of an update."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from alloykit.finished_runs.update_recipe import Changes, kept_teachers, updated_recipe
from alloykit.recipe.overrides import override
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe


def test_a_limit_of_the_run_does_not_hold_for_texts_that_are_added() -> None:
    values = {"teachers": ["a"], "texts": {"path": "a.csv", "limit": 3, "more": ["b.csv"]}, "output": "x"}
    run: Any = SimpleNamespace(recipe=parse(values, Recipe), has_student=False, folder="run")
    texts: Any = updated_recipe(run, Changes(add_texts=["new.csv"]), Path("y")).texts
    assert [place.limit for place in (texts, *texts.more)] == [3, 3, None]


@pytest.mark.parametrize(
    ("changed", "alloy", "muka"),
    [
        ("training.max_length=64", [], []),
        ("inference.long_texts=tail", [], []),
        ("inference.int8=true", [], []),
        ("device=cpu", [], []),
        ("inference.seed=1", ["a", "b"], []),
        ("inference.tokens_per_batch=512", ["a", "b"], []),
        ("training.epochs=1", ["a", "b"], ["a", "b"]),
        ("teachers.1.max_length=64", ["a"], ["a"]),
    ],
)
def test_outputs_are_used_again_if_the_teachers_read_as_before(changed: str, alloy: list[str], muka: list[str]) -> None:
    """Outputs that were made in another way would be refused, in a new folder that the user has not filled."""
    for method, kept in (("alloy", alloy), ("muka", muka)):
        teachers = [{"model": name, "name": name} for name in "ab"]
        values = {"teachers": teachers, "texts": "t.csv", "student": "s", "method": method, "output": "x"}
        before = parse(values, Recipe)
        after = parse(override(before.model_dump(mode="json"), [changed]), Recipe)
        assert kept_teachers(before, after, Changes(overrides=[changed])) == kept
        assert kept_teachers(before, after, Changes(replace_teachers={"a": "c"})) == [n for n in kept if n != "a"]
