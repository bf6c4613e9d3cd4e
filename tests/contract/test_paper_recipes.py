"""The recipes with the papers' own models are valid, and say the same as the benchmarks: `plan` on stand-ins for models and texts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml

from alloykit.jobs.plan import plan
from alloykit.recipe import Recipe, TeachRecipe, parse, read_recipe
from benchmarks.harness.data import AG_NEWS, SNIPPETS
from benchmarks.harness.profiles import PAPER

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))
AMALGAMATIONS = [r for r in RECIPES if r.name == "muka.yaml"]
TEACHERS = [r for r in RECIPES if r.name.startswith("teacher")]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "recipes").with_suffix(""))


def made_by(folder: str) -> TeachRecipe:
    """The recipe that makes this teacher."""
    return read_recipe(ROOT / "recipes" / Path(folder).relative_to("runs").with_suffix(".yaml"), TeachRecipe)


def test_every_recipe_is_one_of_the_two_kinds() -> None:
    assert len(AMALGAMATIONS) == 11
    assert set(AMALGAMATIONS) | set(TEACHERS) == set(RECIPES)


@pytest.mark.parametrize("path", TEACHERS, ids=name)
def test_a_teachers_recipe_is_valid_and_commented(path: Path) -> None:
    recipe = read_recipe(path, TeachRecipe)
    assert recipe.output == f"runs/{name(path)}"
    assert recipe.model.model in {block["model"] for block in PAPER.encoders.values()}
    assert (recipe.training.epochs, recipe.training.learning_rate, recipe.training.batch_size) == (3, 2e-5, 64)
    assert uncommented(path) == []


@pytest.mark.parametrize("path", AMALGAMATIONS, ids=name)
def test_plan_accepts_an_amalgamation_of_stand_ins(path: Path, tmp_path: Path) -> None:
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert uncommented(path) == []
    labels = [made_by(t["model"]).labels for t in values["teachers"]]
    for teacher, known in zip(values["teachers"], labels, strict=True):
        assert known is not None
        teacher["model"] = str(tiny.classifier(tmp_path / teacher["name"], known, "bert"))
    recipe = parse(values, Recipe)
    union = list(dict.fromkeys(label for known in labels for label in known or []))
    if recipe.labels.keep_apart:
        shared = {label for label in union if sum(label in (known or []) for known in labels) > 1}
        assert shared
        union = [f"teacher{i + 1}/{y}" if y in shared else y for i, known in enumerate(labels) for y in known or []]
    values["texts"] = table(tmp_path / "texts.csv", [None] * 60)
    values["evaluate"]["data"] = {"path": table(tmp_path / "test.csv", union), "label": "label"}
    values["student"] = str(tiny.encoder(tmp_path / "encoder", "bert"))
    found = plan(parse(values | {"output": str(tmp_path / "run")}, Recipe))
    assert found["labels"] == union
    assert [t["reads"] for t in found["teachers"]] == [60 * (1 + 16)] * len(labels)
    assert found["student_steps"] > 0
    training = recipe.training
    assert (training.epochs, training.learning_rate, training.batch_size, training.max_length) == (3, 2e-5, 32, 128)
    assert (training.epochs, training.learning_rate) == (PAPER.student["epochs"], PAPER.student["learning_rate"])


def table(path: Path, labels: list[Any]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(tiny.texts(len(labels)), labels, strict=True))
    return str(path)


def uncommented(path: Path) -> list[str]:
    """Lines that set something without saying where the paper states it; names of blocks and of files need no reason."""
    lines = path.read_text(encoding="utf-8").splitlines()
    plain = ("- {model:", "output:", "name: muka", "data:", "seed:", "texts: {path")
    return [
        line
        for line in lines
        if "#" not in line and not line.rstrip().endswith(":") and not line.strip().startswith(plain)
    ]


def test_groups_of_labels_are_the_appendixs() -> None:
    """The same groups as the benchmarks draw, in as far as the label names are the same."""
    for folder, data in (("ag_news", AG_NEWS), ("google_snippets", SNIPPETS)):
        groups = [made_by(f"runs/muka/table1/{folder}/teacher{i}").labels for i in (1, 2)]
        assert groups == data.split(2)
    four = [made_by(f"runs/muka/table3/4-teachers/teacher{i}").labels for i in range(1, 5)]
    assert four[3] == ["Politics", "Game", "Technology", "Finance"]
