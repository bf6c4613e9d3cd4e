"""The JSON schema of a recipe, for editors: completion, descriptions and checks while you write."""

from __future__ import annotations

from typing import Any

from alloykit.methods.registry import methods
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import DistillRecipe, Recipe
from alloykit.recipe.recipe_blocks import RecipeBlock
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe

KINDS: dict[str, type[RecipeBlock]] = {
    recipe.kind: recipe
    for recipe in (Recipe, DistillRecipe, TeachRecipe, TogetherRecipe, GenerateRecipe, QuestionsRecipe)
}
SHORT = (
    "HuggingFaceSpec",
    "StudentSpec",
    "LanguageModel",
    "TextsOptions",
    "TextsPlace",
)  # blocks that may be given as a single string
HIDDEN = ("InMemory", "InMemoryTeacherSpec")  # stand only in the recipe that a run folder keeps
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def recipe_schema(kind: str = "amalgamate") -> dict[str, Any]:
    """The schema of one kind of recipe (a key of `KINDS`). It also has the blocks that may be strings, and the names of all methods."""
    schema = KINDS[kind].model_json_schema()
    definitions = schema.get("$defs", {})
    for hidden in HIDDEN:
        definitions.pop(hidden, None)
    recipe: dict[str, Any] = _with_strings(schema)
    for block in (recipe, *recipe.get("$defs", {}).values()):
        if "method" in block.get("properties", {}):
            _name_methods(block["properties"]["method"])
    return {"$schema": DIALECT, **recipe}


def _name_methods(method: dict[str, Any]) -> None:
    """Let the schema of `method:` allow the names of all methods, alone or in a block."""
    names = {"enum": list(methods())}
    method |= {"anyOf": [names, {"type": "object", "properties": {"name": names}, "required": ["name"]}]}
    method.pop("type", None)
    method.pop("additionalProperties", None)


def _with_strings(value: Any) -> Any:
    if isinstance(value, list):
        return [
            _with_strings(item)
            for item in value
            if str(dict(item).get("$ref") if isinstance(item, dict) else "").removeprefix("#/$defs/") not in HIDDEN
        ]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if name in SHORT:
        rest = {key: item for key, item in value.items() if key != "$ref"}
        return {**rest, "anyOf": [{"type": "string"}, {"$ref": value["$ref"]}]}
    # A string may fit two members, as "generate" does, so that any of them will do.
    return {"anyOf" if key == "oneOf" else key: _with_strings(item) for key, item in value.items()}
