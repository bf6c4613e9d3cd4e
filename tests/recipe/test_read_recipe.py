"""A recipe in a file: what is no recipe, what messages call it, and how it is written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import dump, parse, read_recipe
from alloykit.recipe.recipe import Recipe

VALID: dict[str, Any] = {"output": "run", "teachers": ["ä", "b"], "texts": "t.csv", "student": "c"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"a recipe file; got '.*recipe\.yaml', which does not exist\. Check the path"),
        ("folder", r"a recipe file; got '.*recipe\.yaml', which is a folder\. Name the YAML file in it"),
        ("# nothing", r"`key: value` lines in .*recipe\.yaml; got an empty file\. Start with `teachers:`"),
        ("[teachers, texts]", r"`key: value` lines in .*recipe\.yaml; got list\. Start with `teachers:`"),
    ],
)
def test_what_is_no_recipe(content: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    with pytest.raises(AlloyError, match=words):
        read_recipe(path, Recipe)


def test_messages_name_the_changes_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(VALID))
    assert read_recipe(path, Recipe, ["training.seed=5"]).training.seed == 5
    with pytest.raises(
        AlloyError, match=r"a valid recipe in .*recipe\.yaml, changed by -o training\.seed=-1 -o device=cpu;"
    ):
        read_recipe(path, Recipe, ["training.seed=-1", "device=cpu"])
    path.write_text(yaml.safe_dump(VALID | {"device": 5}))
    with pytest.raises(AlloyError, match=r"a valid recipe in .*recipe\.yaml; got 1 problem"):
        read_recipe(path, Recipe)


def test_a_recipe_is_written_in_the_order_of_its_documentation_and_can_be_read() -> None:
    recipe = parse(VALID, Recipe)
    text = dump(recipe)
    assert list(yaml.safe_load(text)) == list(Recipe.model_fields)
    assert "ä" in text
    assert parse(yaml.safe_load(text), Recipe) == recipe


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inference": {"int8": True, "precision": "bfloat16"}}, "inference: give either int8 or precision bfloat16, not both"),
        ({"method": {"passes": 4}}, "method: give a name, for instance"),
        ({"method": {"name": "muka", "pases": 4}}, r"method: pases: unknown key; did you mean 'passes'\?$"),
        ({"engine": "rey"}, "engine.name: .*'ray', got 'rey'"),
    ],
)  # fmt: skip
def test_blocks_that_cannot_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(AlloyError, match=f"(?m)^  - {words}"):
        parse(VALID | changes, Recipe)
    parse(VALID | {"inference": {"int8": True}, "engine": "ray"}, Recipe)
