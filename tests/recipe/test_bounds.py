"""Every number, string and path of a recipe has bounds, and no message repeats what is too long."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from alloykit.blocks import MAX_FLOAT, MAX_INTEGER, Block
from alloykit.data import TextsOptions
from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.methods.registry import methods
from alloykit.names import shown
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.training.training_options import TrainingOptions

VALID: dict[str, Any] = {"teachers": ["a", "b"], "texts": "texts.csv", "student": "c", "output": "run"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The valid recipe with another value at a path such as training.seed."""
    values: dict[str, Any] = {**VALID}
    *blocks, last = path.split(".")
    inner = values
    for block in blocks:
        inner[block] = inner = {"path": "texts.csv"} if block == "texts" else {}
    inner[last] = value
    return values


REFUSED = {
    "training.seed": [10**30, -1, MAX_INTEGER + 1, float("inf")],
    "inference.seed": [10**30, -1],
    "training.epochs": [1e308, float("inf"), float("nan"), 1e5, 10**400, "1e400", 1e-300],
    "training.learning_rate": [1e308, float("nan"), 100, 5e-324],
    "training.batch_size": [10**30, 2**32],
    "training.accumulate": [10**30],
    "training.max_length": [10**30],
    "training.check_every": [10**30],
    "training.weight_decay": [float("inf"), 1e300],
    "training.max_grad_norm": [float("inf"), 1e300],
    "inference.tokens_per_batch": [10**30],
    "texts.limit": [10**30],
    "texts.path": ["a\0b", "\ud800", "x" * 20_000, "d/" * 3000, "", " "],
    "texts.text": ["a\0b", "\ud800", "x" * 30_000],
    "texts.salt_env": ["a\0b"],
    "output": ["\0", "a\ud800", "x" * 300, "x/" * 3000, "", 12, [["x"] * 9] * 9],
    "student": ["\0", "\ud800", "x" * 300, ""],
    "teachers": [["\0", "b"], ["x" * 20_000, "b"], [{"model": "a", "name": "x" * 20_000}, "b"]],
    "labels.aliases": [{"\0": "a"}, {"a": "\ud800"}, {"x" * 30_000: "a"}, {"a": ["x" * 20_000]}],
    "labels.keep_apart": [["\0"], ["x" * 30_000]],
    "device": ["x" * 20_000],
    "method": ["x" * 20_000, {"name": "x" * 20_000}, {"name": "muka", "passes": "x" * 20_000}, {"name": "muka", "passes": 10**9}],
    "x" * 20_000: [1],
}  # fmt: skip


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path[:30])
def test_values_beyond_the_bounds_are_refused(path: str) -> None:
    for value in REFUSED[path]:
        with pytest.raises(AlloyError, match="1 problem") as refused:
            parse(changed(path, value), Recipe)
        message = str(refused.value)
        assert path[:20] in message
        assert len(message) < 1000, message[:300]
        assert "\0" not in message


def test_usual_and_extreme_values_are_accepted() -> None:
    parse(VALID, Recipe)
    for path, value in {"training.seed": MAX_INTEGER, "training.epochs": 0.01, "training.learning_rate": 1e-12,
                        "output": "a" * 255, "training.weight_decay": 0, "texts.limit": 10**9}.items():  # fmt: skip
        parse(changed(path, value), Recipe)


def blocks() -> list[type[BaseModel]]:
    kinds = [Recipe, TeachRecipe, TogetherRecipe, GenerateRecipe, TrainingOptions, GenerationOptions, TextsOptions]
    return [*kinds, *(method.Options for method in methods().values())]


def test_every_block_of_a_recipe_keeps_the_bounds() -> None:
    for kind in blocks():
        assert issubclass(kind, Block), kind
        assert not kind.model_config.get("allow_inf_nan", True), kind


@pytest.mark.parametrize("kind", [m.Options for m in methods().values()], ids=list(methods()))
def test_no_option_of_a_method_takes_an_absurd_number(kind: type[Block]) -> None:
    for name, field in kind.model_fields.items():
        if "int" in str(field.annotation) or "float" in str(field.annotation):
            for value in (10**30, -(10**30), float("inf"), float("nan"), 2 * MAX_FLOAT + MAX_INTEGER):
                with pytest.raises(ValueError):
                    kind(**{name: value})


def test_many_problems_are_counted_and_the_first_are_listed() -> None:
    with pytest.raises(AlloyError, match="500 problem") as refused:
        parse(VALID | {f"key{n}": n for n in range(500)}, Recipe)
    assert "key29" in str(refused.value)
    assert "key30" not in str(refused.value)
    assert "and 470 more" in str(refused.value)


def test_any_value_is_shown_shortly() -> None:
    nested: list[Any] = ["x"] * 9
    for _ in range(40):
        nested = [nested] * 9
    circle: list[Any] = []
    circle.append(circle)
    for value in (nested, circle, 10**5000, "x" * 10**6, dict.fromkeys(range(99), "y" * 99), [["z" * 200] * 20] * 20):
        assert len(shown(value)) <= 201
    assert shown("it's") == '"it\'s"'
    assert shown([1, None, "a"]) == "[1, None, 'a']"
    assert shown(10**30) == "an integer of 100 bits"


def test_a_message_that_nobody_shortened_is_cut() -> None:
    error = AlloyError(expected="a" * 10**6, got="b" * 10**6 + "\n", hint="c" * 10**6)
    assert len(str(error)) < 30_000
    assert error.got.endswith("…\n")
