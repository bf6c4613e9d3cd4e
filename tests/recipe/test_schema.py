"""`alloykit schema`: what editors complete and check by."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.cli.main import RecipeKind
from alloykit.methods.registry import methods
from alloykit.recipe.schema import KINDS, recipe_schema


def test_every_kind_has_a_schema() -> None:
    assert [kind.value for kind in RecipeKind] == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_are_those_of_the_model_and_references_resolve(kind: str) -> None:
    schema = recipe_schema(kind)
    assert set(schema["properties"]) == set(KINDS[kind].model_fields)
    assert not schema["additionalProperties"]

    def check(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert value["$ref"].removeprefix("#/$defs/") in schema["$defs"], value
            for item in value.values():
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)

    check(schema)
    assert "InMemory" not in str(schema)


def test_strings_stand_for_blocks_and_methods_are_listed() -> None:
    properties = recipe_schema()["properties"]
    assert {"type": "string"} in properties["teachers"]["items"]["anyOf"][0]["anyOf"]
    assert {"type": "string"} in properties["texts"]["anyOf"][0]["anyOf"]
    assert properties["method"]["anyOf"][0]["enum"] == list(methods())
    assert not {"type", "additionalProperties"} & set(properties["method"]), "a name alone is no object"


@pytest.mark.parametrize(
    ("kind", "block", "key"),
    [
        ("amalgamate", "Recipe", "student"), ("questions", "Recipe", "student"), ("teach", "Recipe", "model"),
        ("together", "Recipe", "models"), ("generate", "GenerationOptions", "language_model"), ("amalgamate", "TextsOptions", "more"),
        ("teach", "DataBlock", "data"),
    ],
)  # fmt: skip
def test_wherever_a_string_stands_for_a_block_the_schema_has_both(kind: str, block: str, key: str) -> None:
    schema = recipe_schema(kind)
    found = (schema if block == "Recipe" else schema["$defs"][block])["properties"][key]
    assert found["description"], "editors show it"
    assert "'anyOf': [{'type': 'string'}, {'$ref': '#/$defs/" in str(found)


def test_a_string_may_fit_several_kinds() -> None:
    schema = str(recipe_schema())
    assert "oneOf" not in schema, "`texts: generate` is a string as well, and must be accepted"
    texts = recipe_schema()["properties"]["texts"]["anyOf"]
    assert [kind.get("const") for kind in texts] == [None, "generate"]
