"""Changes of a recipe from the command line."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from alloykit.errors import AlloyError
from alloykit.recipe.overrides import override


@pytest.mark.parametrize(
    ("values", "change", "expected"),
    [
        ({"output": "a"}, "output=b", {"output": "b"}),
        ({"evaluate": {"data": "t"}}, "evaluate=null", {"evaluate": None}),
        ({}, "training.epochs=5", {"training": {"epochs": 5}}),
        ({"training": None}, " training.epochs =5", {"training": {"epochs": 5}}),
        ({"teachers": ["a", "b"]}, "teachers.1.name=x", {"teachers": ["a", {"model": "b", "name": "x"}]}),
        ({"models": ["a", "b"]}, "models.0.layers=2", {"models": [{"model": "a", "layers": 2}, "b"]}),
        ({"teachers": ["a", "b"]}, "teachers.0=c", {"teachers": ["c", "b"]}),
        ({"texts": "t.csv"}, "texts.limit=5", {"texts": {"path": "t.csv", "limit": 5}}),
        ({"method": "alloy"}, "method.seed=1", {"method": {"name": "alloy", "seed": 1}}),
        ({"student": "s"}, "student.layers=2", {"student": {"model": "s", "layers": 2}}),
        ({"model": "m"}, "model.layers=2", {"model": {"model": "m", "layers": 2}}),
        ({"engine": "ray"}, "engine.workers=2", {"engine": {"name": "ray", "workers": 2}}),
        ({"method": {"of": "muka"}}, "method.of.passes=4", {"method": {"of": {"name": "muka", "passes": 4}}}),
        (
            {"evaluate": {"data": "t.csv"}},
            "evaluate.data.label=y",
            {"evaluate": {"data": {"path": "t.csv", "label": "y"}}},
        ),
        (
            {"generation": {"language_model": "g"}},
            "generation.language_model.revision=r",
            {"generation": {"language_model": {"model": "g", "revision": "r"}}},
        ),
    ],
)
def test_what_a_change_makes_of_a_recipe(values: dict[str, Any], change: str, expected: dict[str, Any]) -> None:
    before = deepcopy(values)
    assert override(values, [change]) == expected
    assert values == before


def test_changes_are_made_one_after_another() -> None:
    assert override({}, ["a.b=1", "a.c=2", "a.b=3"]) == {"a": {"b": 3, "c": 2}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("output", "KEY=VALUE"),
        ("=5", "KEY=VALUE"),
        ("training..epochs=5", "KEY=VALUE"),
        ("teachers.2.name=x", "a position from 0 to 1 in `teachers`"),
        ("teachers.-1=x", "a position from 0 to 1 in `teachers`"),
        ("teachers.name=x", "a position from 0 to 1 in `teachers`"),
        ("teachers.\u0661=x", "a position from 0 to 1 in `teachers`"),  # an Arabic 1
        (f"teachers.{'9' * 5000}=x", "a position from 0 to 1 in `teachers`; got -o teachers.9{31}…"),
        ("models.0.layers=2", "an entry in `models`, which has none; got -o models.0"),
        ("output.x=1", "a block at `output`"),
    ],
)
def test_a_change_that_is_not_possible_is_refused(change: str, words: str) -> None:
    with pytest.raises(AlloyError, match=words):
        override({"teachers": ["a", "b"], "models": [], "output": "run"}, [change])
