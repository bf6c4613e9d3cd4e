"""Settings that change no result."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.blocks import effective
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe

RECIPE: dict[str, Any] = {
    "teachers": ["a", {"url": "http://localhost/predict", "format": "tei", "labels": ["x", "y"]}],
    "texts": "texts.csv",
    "student": "b",
    "output": "run",
}


def changed(teacher: dict[str, Any], training: dict[str, Any]) -> Recipe:
    teachers = [RECIPE["teachers"][0], RECIPE["teachers"][1] | teacher]
    return parse(RECIPE | {"teachers": teachers, "training": training}, Recipe)


def test_limits_of_a_service_and_checkpoints_have_no_effect() -> None:
    limits = {"parallel": 1, "timeout": 5.0, "max_requests": 9, "key_env": "KEY", "batch": 2, "tolerance": 1.0}
    other = changed(limits, {"save_every_seconds": 0, "report_to": ["tensorboard"]})
    assert effective(other) == effective(parse(RECIPE, Recipe))


@pytest.mark.parametrize(
    ("teacher", "training"),
    [({"url": "http://localhost/other"}, {}), ({"version": "2"}, {}), ({"name": "new"}, {}), ({}, {"seed": 1})],
)
def test_other_settings_have(teacher: dict[str, Any], training: dict[str, Any]) -> None:
    assert effective(changed(teacher, training)) != effective(parse(RECIPE, Recipe))
