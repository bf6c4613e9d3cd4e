"""Read a recipe of any kind from a file or a dictionary, and write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from alloykit.errors import AlloyError
from alloykit.recipe.overrides import override
from alloykit.recipe.problems import explain, listed
from alloykit.recipe.recipe_blocks import RecipeBlock
from alloykit.yaml_files import read_yaml

AnyRecipe = TypeVar("AnyRecipe", bound=RecipeBlock)


def read_recipe(path: Path, kind: type[AnyRecipe], overrides: Sequence[str] | None = None) -> AnyRecipe:
    """Read and check a recipe file. The AlloyError lists all problems.

    overrides: changes of its values, "training.epochs=5" (`alloykit.recipe.overrides`).
    """
    return parse(recipe_values(path, overrides), kind, name_in_messages(path, overrides))


def name_in_messages(path: Path, overrides: Sequence[str] | None) -> str:
    """How messages call a recipe file that was changed from the command line."""
    return f"{path}, changed by -o {' -o '.join(overrides)}" if overrides else str(path)


def recipe_values(path: Path, overrides: Sequence[str] | None) -> dict[str, Any]:
    """The values of a recipe file, after `overrides`, before they are checked. AlloyError for a file that holds no mapping."""
    if path.is_dir():
        raise AlloyError(expected="a recipe file", got=f"'{path}', which is a folder", hint="Name the YAML file in it.")
    if not path.is_file():
        got = "is a pipe or a device" if path.exists() else "does not exist"
        raise AlloyError(
            expected="a recipe file", got=f"'{path}', which {got}", hint="Check the path; it is a YAML file."
        )
    values = read_yaml(path)
    if values is None:
        raise AlloyError(expected=f"`key: value` lines in {path}", got="an empty file", hint="Start with `teachers:`.")
    if not isinstance(values, dict):
        raise AlloyError(
            expected=f"`key: value` lines in {path}", got=type(values).__name__, hint="Start with `teachers:`."
        )
    return override(values, overrides) if overrides else values


def parse(values: Mapping[str, Any], kind: type[AnyRecipe], name: str = "the recipe") -> AnyRecipe:
    """Check a recipe that is given as a dictionary. name: the recipe's name in messages. The AlloyError lists all problems."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        lines = explain(error, kind)
        raise AlloyError(
            expected=f"a valid recipe in {name}",
            got=listed(lines),
            hint=f"`alloykit schema {kind.kind}` lists the keys, `alloykit methods NAME` those of a method.",
        ) from error


def dump(recipe: BaseModel) -> str:
    """The recipe as YAML, with every default written out."""
    return yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
