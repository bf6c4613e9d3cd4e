"""The guide "add a method" followed by itself: its files are written as they stand, its tests pass, its recipe runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import tiny
import yaml
from installed import install
from pages import ROOT, Snippet, snippets, tokens

import alloykit
from alloykit.methods.hooks import Hooks
from alloykit.methods.registry import create, methods, spec_of
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.testing import check_method

PAGE = ROOT / "docs" / "dev" / "add-a-method.md"
SNIPPETS = snippets("python", "toml", "yaml", pages=[PAGE])


def name_of(snippet: Snippet) -> str:
    first = snippet.text.splitlines()[0]
    assert first.startswith("# "), f"{snippet.where} begins with the name of its file"
    return first.removeprefix("# ")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All files of the page, and the package installed."""
    for snippet in SNIPPETS:
        path = tmp_path / "my-methods" / name_of(snippet)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(snippet.text, encoding="utf-8")
    (tmp_path / "my-methods" / "src" / "my_methods" / "__init__.py").touch()
    install(tmp_path / "my-methods", tmp_path / "site", monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path / "my-methods" / "tests"))
    for name in [n for n in sys.modules if n.split(".")[0] in ("my_methods", "test_sharp_mean")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path / "my-methods"


def test_the_page_has_every_file_that_it_lists(package: Path) -> None:
    tree = next(token.content for token in tokens(PAGE) if token.type == "code_block")
    listed = [line.split()[0] for line in tree.splitlines()[1:]]
    assert len(listed) == 4
    assert all((package / name).exists() for name in listed)


def test_its_test_passes(package: Path) -> None:
    importlib.import_module("test_sharp_mean").test_it_keeps_to_the_contract()


@pytest.mark.parametrize(("module", "name"), [("with_labels", "WithLabels"), ("flat_prior", "FlatPrior")])
def test_its_other_methods_keep_to_the_contract(package: Path, module: str, name: str) -> None:
    check_method(getattr(importlib.import_module(f"my_methods.{module}"), name))


def test_the_page_names_every_hook() -> None:
    page = PAGE.read_text(encoding="utf-8")
    hooks = [name for name in vars(Hooks) if not name.startswith("_")]
    assert [name for name in hooks if f"`{name}" not in page] == []


def test_labels_go_there_and_back(package: Path) -> None:
    exec(compile((package / "labels.py").read_text(encoding="utf-8"), "labels.py", "exec"), {})


@pytest.mark.slow
def test_its_recipe_runs(package: Path, models: dict[str, Path], tmp_path: Path) -> None:
    assert methods()["sharp_mean"].title
    values = yaml.safe_load((package / "recipe.yaml").read_text(encoding="utf-8"))
    assert spec_of_recipe(values)["sharpness"] == 3.0
    run = alloykit.amalgamate(
        teachers=[str(models["billing"]), str(models["delivery"])],
        texts=tiny.texts(40),
        student={"model": str(models["encoder"]), "layers": 1},
        method=values["method"],
        training={"epochs": 1, "batch_size": 8, "max_length": 32},
        output=tmp_path / "run",
    )
    assert run.predict(["late parcel"])[0]["label"]


def spec_of_recipe(values: dict[str, object]) -> dict[str, object]:
    return spec_of(create(parse(values, Recipe).method))
