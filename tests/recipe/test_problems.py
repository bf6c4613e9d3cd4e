"""A value that may be one of several kinds is explained as the kind that it is, at its place in the file."""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Discriminator, Field, Tag, ValidationError

from alloykit.errors import AlloyError
from alloykit.methods.registry import methods
from alloykit.recipe.problems import QUOTES, explain
from alloykit.recipe.questions import parse_amalgamation
from alloykit.recipe.read_recipe import parse, read_recipe
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.schema import KINDS
from alloykit.recipe.texts_origin import InMemory

VALID: dict[str, Any] = {"teachers": ["a", "b"], "texts": "texts.csv", "student": "c", "output": "run"}
WRITER = {"language_model": "x"}
TEXTS = "give a path, or a block such as {path: texts.csv, text: COLUMN}, got"

CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "texts of another kind": ({"texts": 5}, [f"texts: {TEXTS} 5"]),
    "texts without a value": ({"texts": None}, [f"texts: {TEXTS} None"]),
    "labelled texts of another kind": ({"validation": {"data": ["a"]}}, [f"validation.data: {TEXTS} ['a']"]),
    "texts with two mistakes": (
        {"texts": {"path": "a", "txt": "b", "limit": 0}},
        ["texts.limit: Input should be greater than or equal to 1, got 0", "texts.txt: unknown key; did you mean 'text'?"],
    ),
    "texts in memory": ({"texts": {"in_memory": 5}}, [f"texts.in_memory: Input should be a valid string, got 5{QUOTES}"]),
    "words that YAML reads as truth values": (
        {"labels": {"aliases": {True: False, "a": 1, "b": "c"}}},
        [
            f"a key of labels.aliases: Input should be a valid string, got True{QUOTES}",
            f"labels.aliases.1: Input should be a valid string, got False{QUOTES}",
            f"labels.aliases.a: Input should be a valid string, got 1{QUOTES}",
        ],
    ),
    "a number with a point": (
        {"labels": {"aliases": {"a": 1.5}}}, [f"labels.aliases.a: Input should be a valid string, got 1.5{QUOTES}"],
    ),
    "two keys that do not fit together": (
        {"texts": "generate"}, ["texts: generate needs a `generation:` block with a `language_model`"],
    ),
    "two long keys with the same beginning": (
        {"x" * 50: 1, "x" * 50 + "y": 2}, 2 * [f"{'x' * 40}…: unknown key; known are {', '.join(Recipe.model_fields)}"],
    ),
    "texts in memory with a key": (
        {"texts": {"in_memory": "a", "limit": 1}}, ["texts.limit: unknown key; known are in_memory"],
    ),
    "a path in a string": ({"texts": "a\0b"}, ["texts.path: give text without NUL characters"]),
    "labels to keep apart": (
        {"labels": {"keep_apart": "refund"}},
        ["labels.keep_apart: give true, false or a list of labels, got 'refund'"],
    ),
    "one label to keep apart": (
        {"labels": {"keep_apart": ["refund", 5]}}, [f"labels.keep_apart.1: Input should be a valid string, got 5{QUOTES}"],
    ),
    "one number": (
        {"generation": WRITER | {"top_k": -1}},
        ["generation.top_k: Input should be greater than or equal to 0, got -1"],
    ),
    "several numbers": (
        {"generation": WRITER | {"top_p": [1, 2]}},
        ["generation.top_p.1: Input should be less than or equal to 1, got 2"],
    ),
    "a teacher of another kind": (
        {"teachers": ["a", 5]},
        ["teachers.1: give a folder, a hub id or a block with one of the keys model, answers, python, sklearn, onnx, zero_shot, url, got 5"],
    ),
    "a block of another kind": (
        {"training": 5}, ["training: give a block with keys such as epochs, learning_rate, batch_size, got 5"],
    ),
    "a block in a block": ({"validation": 5}, ["validation: give a block with keys such as data, got 5"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_only_the_kind_that_was_meant_is_explained(name: str) -> None:
    changes, expected = CASES[name]
    with pytest.raises(AlloyError) as refused:
        parse(VALID | changes, Recipe)
    lines = [line.removeprefix("  - ") for line in refused.value.got.splitlines() if line.startswith("  - ")]
    assert lines == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {"keep_apart": True}},
        {"labels": {"keep_apart": "true"}},
        {"labels": {"keep_apart": ["refund"]}},
        {"labels": {"keep_apart": ("refund",)}},
        {"texts": {"in_memory": "0"}},
        {"texts": InMemory(in_memory="0")},
        {"texts": Path("texts.csv")},
        {"texts": "generate", "generation": WRITER | {"top_k": [1, 2], "temperature": 0.5}},
        {"validation": {"data": "generate"}},
    ],
    ids=str,
)
def test_every_kind_is_accepted_and_written_out_as_itself(changes: dict[str, Any]) -> None:
    recipe = parse(VALID | changes, Recipe)
    assert parse(recipe.model_dump(mode="json"), Recipe) == recipe


def test_a_tag_is_no_place_whatever_its_name() -> None:
    class Block(BaseModel, extra="forbid"):
        kind: Literal["size"]
        number: int

    class Outer(BaseModel, extra="forbid"):
        size: list[
            Annotated[
                Annotated[Block, Tag("size")] | Annotated[int, Tag("number")],
                Discriminator(lambda value: "size" if isinstance(value, dict) else "number"),
            ]
        ]
        by_name: dict[str, Block | None] = Field({})

    with pytest.raises(ValidationError) as refused:
        Outer.model_validate({"size": [{"kind": "size", "nmber": 1}, "x"], "by_name": {"size": {"kind": "size"}}})
    assert explain(refused.value, Outer) == [
        "size.0.number: is missing",
        "size.0.nmber: unknown key; did you mean 'number'?",
        "size.1: Input should be a valid integer, unable to parse string as an integer, got 'x'",
        "by_name.size.number: is missing",
    ]


def unions(annotation: Any) -> Iterator[tuple[Any, ...]]:
    """The members of every union of two or more in an annotation, and in the blocks that it leads to."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from unions(field.annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = tuple(member for member in typing.get_args(annotation) if member is not type(None))
        if len(members) > 1:
            yield members
    for part in typing.get_args(annotation):
        yield from unions(part)


@pytest.mark.parametrize("block", [*KINDS.values(), *(m.Options for m in methods().values())], ids=str)
def test_every_member_of_every_union_has_a_tag(block: type[BaseModel]) -> None:
    for members in unions(block):
        for member in members:
            assert any(isinstance(part, Tag) for part in typing.get_args(member)), (block, member)


def test_the_recipe_has_unions() -> None:
    assert len(list(unions(Recipe))) == 11


def test_a_message_names_the_kind_of_recipe_and_what_is_missing() -> None:
    with pytest.raises(
        AlloyError, match=r"questions\.a\.teachers: give at least 1, got \[\](.|\n)*alloykit schema questions"
    ):
        parse_amalgamation({"questions": {"a": {"teachers": []}}, "texts": "x.csv", "student": "y", "output": "z"})


def test_a_pipe_is_called_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "recipe.yaml")
    with pytest.raises(AlloyError, match="a recipe file; got '.*recipe.yaml', which is a pipe or a device"):
        read_recipe(pipe, Recipe)
