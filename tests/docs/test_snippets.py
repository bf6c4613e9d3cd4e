"""Every snippet of README, guide and methods' pages: recipes are valid, commands and their options exist, Python compiles."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
import typer
import yaml
from pages import ROOT, Snippet, snippets

from alloykit.cli.main import app
from alloykit.methods.registry import create
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import DistillRecipe, Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe

BASE = {"teachers": ["teachers/billing"], "texts": "tickets.csv", "output": "runs/x"}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
KINDS = (Recipe, DistillRecipe, TeachRecipe, TogetherRecipe, GenerateRecipe)


def kind_of(values: Mapping[str, Any]) -> type[Any]:
    """The recipe that has these keys."""
    if "questions" in values:
        return QuestionsRecipe
    if "models" in values:
        return TogetherRecipe
    if "model" in values:
        return TeachRecipe
    method = values.get("method", "alloy")
    return DistillRecipe if create(method).one_task else Recipe


@pytest.mark.parametrize("snippet", snippets("yaml"), ids=lambda s: s.where)
def test_a_recipe_is_valid(snippet: Snippet) -> None:
    values = yaml.safe_load(snippet.text)
    kind = kind_of(values)
    fragment = kind is Recipe and "output" not in values
    recipe = parse(BASE | values if fragment else values, kind)
    given = recipe.model_dump(exclude_unset=True)
    assert set(values) <= set(given)


@pytest.mark.parametrize("snippet", snippets("python"), ids=lambda s: s.where)
def test_python_compiles(snippet: Snippet) -> None:
    compile(snippet.text, snippet.where, "exec")


@pytest.mark.parametrize("snippet", [s for s in snippets("python") if "pipeline(" in s.text], ids=lambda s: s.where)
def test_a_pipeline_of_a_student_cuts_long_texts(snippet: Snippet) -> None:
    for arguments in re.findall(r'pipeline\("text-classification", (model=.*)\)', snippet.text):
        assert "truncation=True" in arguments, "a text with more tokens than the student has positions is an error"


def lines() -> list[tuple[str, str]]:
    """All lines of shell snippets, and all commands of alloykit that a page quotes in a sentence, with their places."""
    found = [(s.where, line) for s in snippets("shell") for line in s.text.splitlines() if line.strip()]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.parent.name != "results":
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            found += [
                (str(page.relative_to(ROOT)), f"alloykit {line}") for line in re.findall(r"`alloykit ([^`…]+)`", text)
            ]
    return found


@pytest.mark.parametrize(("where", "line"), lines())
def test_a_command_exists_with_its_options(where: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    if words[0] == "pip":
        assert words[1] == "install"
        assert set(words[2].removeprefix(".").strip("[]").split(",")) <= {"", *EXTRAS}
        return
    assert words[0] == "alloykit", f"{where}: what is '{line}'?"
    group: Any = typer.main.get_command(app)
    names = {o for p in group.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
    if words[1].startswith("-"):
        assert words[1] in names
        return
    command = group.commands[words[1]]
    names |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    unknown = [word for word in words[2:] if word.startswith("--") and word.split("=")[0] not in names]
    assert not unknown, f"{where}: {line}"
    if where != "README.md" and ":" not in where:
        return  # a command that is only mentioned has no arguments
    options = {o: p for p in command.params for o in (*p.opts, *p.secondary_opts)}
    rest, given = words[2:], []
    while rest:
        word = rest.pop(0)
        if word in options and not options[word].is_flag:
            rest.pop(0)
        elif not word.startswith("-"):
            given.append(word)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    assert len(given) >= sum(p.required for p in arguments)
    assert len(given) <= len(arguments) or any(p.nargs == -1 for p in arguments)
