"""`more:` in a block of texts: further files whose texts follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import write_csv

from alloykit.data import TextsOptions, load_texts
from alloykit.recipe.read_recipe import dump, parse
from alloykit.recipe.recipe import Recipe
from alloykit.yaml_files import parse_yaml


def test_texts_follow_with_the_columns_of_the_block(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "a.csv", [("one", "x"), ("two", ""), ("three", "y")], ("body", "topic"))
    second = write_csv(tmp_path / "b.csv", [("four", "x"), ("one", "z")], ("body", "topic"))
    third = write_csv(tmp_path / "c.csv", [("five", "y")], ("text", "topic"))
    block = TextsOptions.model_validate(
        {
            "path": str(first),
            "text": "body",
            "label": "topic",
            "more": [str(second), {"path": str(third), "text": "text"}],
        }
    )
    with pytest.warns(Warning, match="1 missing label"):
        found = load_texts(block, want_labels=True)
    assert found.table["text"] == ["one", "three", "four", "one", "five"]
    assert found.table["label"] == ["x", "y", "x", "z", "y"]
    assert found.table["source_row"] == [0, 2, 3, 4, 5]
    assert (found.total, found.duplicates, found.dropped) == (6, 1, {"missing label": 1})
    assert len(found.ids()) == 5


def test_a_limit_holds_for_each_place(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "a.csv", [("one",), ("two",), ("three",)], ("text",))
    second = write_csv(tmp_path / "b.csv", [("four",), ("five",), ("six",)], ("text",))
    more = [str(second), {"path": str(second), "limit": 1}, {"path": str(first), "limit": None}]
    found = load_texts(TextsOptions.model_validate({"path": str(first), "limit": 2, "more": more}))
    assert found.table["text"] == ["one", "two", "four", "five", "four", "one", "two", "three"]


def test_pairs_and_single_texts(tmp_path: Path) -> None:
    pairs = write_csv(tmp_path / "a.csv", [("one", "a")], ("text", "pair"))
    single = write_csv(tmp_path / "b.csv", [("two",)])
    block = {"path": str(pairs), "text_pair": "pair", "more": [{"path": str(single), "text_pair": None}]}
    found = load_texts(TextsOptions.model_validate(block))
    assert found.table["text_pair"] == ["a", None]


def test_a_recipe_keeps_them(tmp_path: Path) -> None:
    values = {"teachers": ["a"], "texts": {"path": "a.csv", "text": "body", "more": ["b.csv"]}, "output": "x"}
    recipe = parse(values, Recipe)
    assert recipe.texts.more[0].text == "body"  # type: ignore[union-attr,index]
    again = parse(parse_yaml(dump(recipe), "it"), Recipe)
    assert again == recipe
    with pytest.raises(Exception, match=r"texts.more.0.*unknown key"):
        parse(values | {"texts": {"path": "a.csv", "more": [{"path": "b.csv", "colour": 1}]}}, Recipe)
