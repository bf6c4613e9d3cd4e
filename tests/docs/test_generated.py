"""The reference, which docs/_ext writes from the code, is complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import typer
from pages import ROOT, WRITTEN

sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import docstrings
import generated
import results

import alloykit
from alloykit.cli.main import app
from alloykit.methods.registry import BUILT_IN
from alloykit.recipe.recipe import Recipe


def rows(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("part", ["recipe", "methods", "commands"])
def test_every_key_option_and_argument_has_a_meaning(part: str) -> None:
    silent = [row for row in rows(generated.GENERATED[part]()) if row[0].startswith("`") and not row[-1]]
    assert not silent


def test_every_recipe_and_every_block_is_there() -> None:
    text = generated.recipe()
    for kind in ("Recipe", "DistillRecipe", "TeachRecipe", "TogetherRecipe", "GenerateRecipe", "QuestionsRecipe"):
        assert f"### {kind}\n" in text
    for block in generated._blocks(Recipe):
        assert f"### {block.__name__}\n" in text
        for key in block.model_fields:
            assert f"| `{key}` |" in text
    targets = set(re.findall(r"\]\(#([\w-]+)\)", text))
    assert targets <= {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_defaults_are_yaml() -> None:
    text = generated.recipe()
    assert "| `batch_size` | whole number | `32` |" in text
    assert "### StudentSpec\n\nUnder `student:`, `model:`, `models:`." in text
    assert text.count("| `generation` |") == 2, "distill's recipe lists only what differs from amalgamate's"
    assert "| `keep_apart` | true or false or list of text | `false` |" in text
    assert "| `method` | mapping | `{name: alloy}` |" in text
    assert "InMemory" not in text


def test_every_command_and_every_option_is_there() -> None:
    text = generated.commands()
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"## `{name}`\n" in text
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or re.search(rf"`{parameter.opts[-1]}[ `]", text)


def test_every_method_and_every_public_name_is_there() -> None:
    text, python = generated.methods(), generated.python()
    for method in BUILT_IN:
        assert f"## `{method.name}`\n" in text
        for option in method.Options.model_fields:
            assert f"| `{option}` |" in text
    for name in alloykit.__all__:
        assert name.startswith("_") or f"alloykit.{name}\n" in python


def test_marks_are_filled() -> None:
    pages = [p for p in WRITTEN if "<!-- generated:" in p.read_text(encoding="utf-8")]
    assert len(pages) == len(generated.GENERATED)
    for page in pages:
        source = [page.read_text(encoding="utf-8")]
        generated.fill(None, page.stem, source)
        assert "generated:" not in source[0]


def test_docstrings_become_literal_blocks() -> None:
    lines = docstrings.as_rst(["A `name` and a * b.", "", "  run/   a folder", "  x/     another", "", "The end."])
    assert lines == [
        "A ``name`` and a \\* b.",
        "",
        "",
        "::",
        "",
        "     run/   a folder",
        "     x/     another",
        "",
        "",
        "The end.",
    ]


def test_results_link_to_pages_of_the_documentation() -> None:
    text = results.for_results(
        "[a](../../docs/dev/speed.md#memory) [b](muka.md) ![c](muka/fig3.svg) [d](muka/x.json) [e](#here)"
    )
    assert text == "[a](../dev/speed.md#memory) [b](muka.md) ![c](muka/fig3.svg) d [e](#here)"
    source = ["[a](../../benchmarks/results/alloy.md) [b](../guide/x.md) [c](../../CONTRIBUTING.md)"]
    results.for_docs(None, "methods/muka", source)
    assert source == ["[a](../results/alloy.md) [b](../guide/x.md) c"]
    assert Path(results.RESULTS).is_dir()
