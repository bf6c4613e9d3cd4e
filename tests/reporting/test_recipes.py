"""The recipe on a public page names no place of this machine or of the network around it."""

from __future__ import annotations

from typing import Any

import yaml

from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.reporting.recipes import public_values

PLACE = "/private/secret"
VALUES: dict[str, Any] = {
    "teachers": [
        f"{PLACE}/t",
        {"answers": f"{PLACE}/a.csv", "by": "row", "label": "l", "certainty": 0.9},
        {"url": "https://internal.secret/v1", "model": "m", "labels": ["a", "b"]},
        {"python": f"{PLACE}/module.py:T", "labels": ["a", "b"]},
        {"sklearn": f"{PLACE}/m.skops"},
        {"onnx": f"{PLACE}/onnx"},
    ],
    "texts": {"path": f"{PLACE}/x.csv", "more": [f"{PLACE}/y.csv"]},
    "student": {"model": f"{PLACE}/s", "continues": f"{PLACE}/c"},
    "training": {"arguments": {"fsdp_config": "secret/fsdp.json", "optim": "sgd"}},
    "generation": {"language_model": f"{PLACE}/lm"},
    "engine": {"name": "ray", "address": "ray://secret-host:10001"},
    "evaluate": {"data": {"path": f"{PLACE}/e.csv", "label": "l"}, "reference": f"{PLACE}/r"},
    "validation": {"data": f"{PLACE}/v.csv"},
    "labelled": {"data": {"path": f"{PLACE}/l.csv", "label": "l", "more": [f"{PLACE}/m.csv"]}},
    "output": f"{PLACE}/run",
}


def test_a_public_recipe_names_no_place() -> None:
    found = public_values(parse(VALUES, Recipe))
    assert [line for line in yaml.safe_dump(found).splitlines() if "secret" in line] == []
    assert found["training"]["arguments"] == {"fsdp_config": "fsdp.json", "optim": "sgd"}
    assert found["engine"]["name"] == "ray"
    own = public_values(parse(VALUES | {"engine": {"name": "ray", "address": "auto"}}, Recipe))
    assert own["engine"]["address"] == "auto"
