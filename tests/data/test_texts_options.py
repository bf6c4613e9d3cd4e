"""The options, alone, as one string, and in a recipe that has several mistakes."""

import socket
from pathlib import Path

import datasets
import pytest
from pydantic import ValidationError
from sample_texts import write

from alloykit.data import TextsOptions, load_texts
from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe

RECIPE = {"teachers": ["a", "b"], "texts": "texts.csv", "output": "run"}
TEACH = {"model": "encoder", "data": "texts.csv", "output": "teacher"}


def test_options_need_one_origin_and_can_be_overridden(tmp_path):
    with pytest.raises(ValidationError, match=r"either `path` .* or `dataset` .*got neither"):
        TextsOptions()
    path = write(tmp_path / "a.csv", b"text,body\nx,y\n")
    options = TextsOptions(path=str(path), text="body")
    assert load_texts(options).table["text"][:] == ["y"]
    assert load_texts(options, text="text").table["text"][:] == ["x"]
    with pytest.raises(AlloyError, match=r"^expected either `path` .*; got both \('.*a\.csv' and 'b/c'\)\.$"):
        load_texts(options, dataset="b/c")
    with pytest.raises(AlloyError, match=r"options among text,.*`label_names`: expected different.*'X'.*; `limit`: "):
        load_texts(options, label_names=["X", "X"], limit=0)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a folder `data`, a file `plain` and a nested file `deep/file`; no network."""

    def refuse(*_):
        raise AssertionError("a string was looked up on the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(tmp_path)
    for folder in ("data", "deep"):
        (tmp_path / folder).mkdir()
    for file in ("plain", "deep/file"):
        (tmp_path / file).write_text("x")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("acme/tickets", "dataset"),
        ("acme/tickets.v2", "dataset"),
        ("plain/tickets", "dataset"),  # a file of that name is no folder of the owner
        ("deep/file", "path"),
        ("data/tickets", "path"),
        ("acme/tickets.csv", "path"),
        ("acme/tickets.jsonl.gz", "path"),
        ("acme/tickets.PARQUET", "path"),
        ("./acme/tickets", "path"),
        ("../tickets", "path"),
        ("~/tickets", "path"),
        ("~acme/tickets", "path"),
        ("/acme/tickets", "path"),
        ("acme/two/three", "path"),
        ("tickets", "path"),
        ("plain", "path"),
        ("a" * 300 + "/b", "dataset"),
        ("An invoice/refund that never came. " * 20, "path"),
    ],
)
@pytest.mark.usefixtures("place")
def test_a_string_means_the_same_everywhere(text, kind, monkeypatch):
    wanted = TextsOptions(**{kind: text})
    assert TextsOptions.from_string(text) == wanted
    assert parse(RECIPE | {"texts": text, "evaluate": {"data": text}}, Recipe).texts == wanted
    assert parse(RECIPE | {"evaluate": {"data": text}}, Recipe).evaluate.data == wanted
    assert parse(TEACH | {"data": text, "validation": {"data": text}}, TeachRecipe).data == wanted
    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda name, *_, **__: asked.append(name) or 1 / 0)
    if text not in ("plain", "deep/file"):
        with pytest.raises(AlloyError, match="on the hub" if kind == "dataset" else "an existing file or folder"):
            load_texts(text)
    assert asked == ([text] if kind == "dataset" else [])


@pytest.mark.usefixtures("place")
def test_a_path_object_is_always_a_path():
    assert TextsOptions.from_string(Path("acme/tickets")) == TextsOptions(path="acme/tickets")
    assert parse(RECIPE | {"texts": Path("acme/tickets")}, Recipe).texts == TextsOptions(path="acme/tickets")
    with pytest.raises(AlloyError, match="write `dataset: acme/tickets`"):
        load_texts(Path("acme/tickets"))


def test_a_recipe_lists_every_mistake_in_its_texts():
    texts = {"path": "a.csv", "dataset": "b/c"}
    data = {"path": "a.csv", "label": "text"}
    validation = {"data": {"path": "a.csv", "label_names": [], "lable": "x"}}
    values = RECIPE | {"texts": texts, "evaluate": {"data": data}, "validation": validation, "devise": "cpu"}
    with pytest.raises(AlloyError) as caught:
        parse(values, Recipe)
    lines = [line.strip() for line in str(caught.value).splitlines() if line.startswith("  - ")]
    assert lines == [
        "- texts: expected either `path` (file or folder) or `dataset` (hub id); got both ('a.csv' and 'b/c').",
        "- validation.data.label_names: expected different, non-empty label_names; got an empty list.",
        "- validation.data.lable: unknown key; did you mean 'label'?",
        "- evaluate.data: expected different columns for text, text_pair and label; got 'text', 'text'.",
        "- devise: unknown key; did you mean 'device'?",
    ]
