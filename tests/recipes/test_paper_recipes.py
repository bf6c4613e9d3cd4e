"""The recipes with the papers' own models are valid, and commented: `plan` on stand-ins for models and texts."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml
from some_quick import some_quick

from alloykit.planning.plan_run import plan_recipe
from alloykit.recipe.read_recipe import parse, read_recipe
from alloykit.recipe.recipe import DistillRecipe, Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from benchmarks.harness.sets import AG_NEWS, OHSUMED, SNIPPETS
from benchmarks.muka.paper import PROFILE as PAPER

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))


def named(*names: str) -> list[Path]:
    return [r for r in RECIPES if r.name in {f"{n}.yaml" for n in names}]


TEACHERS = [r for r in RECIPES if r.name.startswith("teacher")]
TOGETHER, MUKA, STRATANET, DISTILL = named("together"), named("muka"), named("stratanet"), named("rl_kd", "mt_bert")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "recipes").with_suffix(""))


def labels_of(folder: str) -> list[str] | None:
    """What a teacher learns, by the recipe that makes it; None where that is all labels of the data."""
    path = ROOT / "recipes" / Path(folder).relative_to("runs").with_suffix(".yaml")
    if path.exists():
        return read_recipe(path, TeachRecipe).labels
    recipe = read_recipe(path.with_name("together.yaml"), TogetherRecipe)
    assert path.stem in recipe.model_names
    assert recipe.output == str(Path(folder).parent)
    return recipe.labels


def test_every_recipe_is_of_one_of_the_kinds() -> None:
    assert (len(MUKA), len(STRATANET), len(DISTILL), len(TOGETHER)) == (11, 3, 9, 3)
    assert set(TEACHERS) | set(TOGETHER) | set(MUKA) | set(STRATANET) | set(DISTILL) == set(RECIPES)


@pytest.mark.parametrize("path", RECIPES, ids=name)
def test_every_value_says_where_the_paper_states_it(path: Path) -> None:
    plain = (
        "- {model:",
        "output:",
        "name: ",
        "data:",
        "seed:",
        "texts: {path",
    )  # names of blocks and files need no reason
    lines = path.read_text(encoding="utf-8").splitlines()
    assert "not run" in lines[0]
    assert path.name not in ("rl_kd.yaml", "mt_bert.yaml") or any(line == "evaluate:" for line in lines)
    silent = [
        line
        for line in lines
        if "#" not in line and not line.rstrip().endswith(":") and not line.strip().startswith(plain)
    ]
    assert silent == []


SLICE = re.compile(r"(?P<split>\w+)(\[(?:(?P<first>\d+)%)?:(?:(?P<last>\d+)%)?\])?")
Texts = tuple[str, str | None, str, range]


def texts_of(block: dict[str, Any] | str | None) -> list[Texts]:
    """Which texts a block names: source, config, split, and percent of it. None for texts that are written."""
    if not isinstance(block, dict):
        return []
    found = SLICE.fullmatch(block.get("split", "train"))
    assert found is not None, block
    part = range(int(found["first"] or 0), int(found["last"] or 100))
    assert len(part) > 0
    return [(block.get("dataset") or block["path"], block.get("config"), found["split"], part)]


def shared(one: list[Texts], other: list[Texts]) -> list[tuple[Texts, Texts]]:
    return [(a, b) for a in one for b in other if a[:3] == b[:3] and set(a[3]) & set(b[3])]


@pytest.mark.parametrize("path", RECIPES, ids=name)
def test_nothing_is_learned_selected_and_tested_on_the_same_texts(path: Path) -> None:
    """The checkpoint, RL-KD's third reward and fitted weights are chosen on texts that are neither learned from nor tested on, by teachers neither."""
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    learned = texts_of(values.get("texts", values.get("data")))
    selected, tested = (texts_of((values.get(key) or {}).get("data")) for key in ("validation", "evaluate"))
    for teacher in values.get("teachers", []):
        own = ROOT / "recipes" / Path(teacher["model"]).relative_to("runs").with_suffix(".yaml")
        made = yaml.safe_load((own if own.exists() else own.with_name("together.yaml")).read_text(encoding="utf-8"))
        learned += texts_of(made["data"])
        assert not shared(texts_of((made.get("validation") or {}).get("data")), tested), (
            "a teacher is selected by the test"
        )
    assert not shared(learned, tested)
    assert not shared(learned, selected)
    assert not shared(selected, tested)
    if values.get("training", {}).get("select") == "labelled" and "texts" in values:
        assert selected


def test_parts_of_a_split_are_told_apart() -> None:
    def part(split: str) -> list[Texts]:
        return texts_of({"dataset": "a/b", "split": split})

    assert not shared(part("train[:90%]"), part("train[90%:]"))
    assert not shared(part("train"), part("validation"))
    assert shared(part("train[:91%]"), part("train[90%:]"))
    assert shared(part("train"), part("train[99%:]"))


@pytest.mark.parametrize("path", TEACHERS, ids=name)
def test_a_teachers_recipe(path: Path) -> None:
    recipe = read_recipe(path, TeachRecipe)
    assert recipe.output == f"runs/{name(path)}"
    assert recipe.training.select == "labelled"
    if "muka" in path.parts:
        assert recipe.model.model in {block["model"] for block in PAPER.encoders.values()}
        assert (recipe.training.epochs, recipe.training.learning_rate, recipe.training.batch_size) == (3, 2e-5, 64)


@pytest.mark.parametrize("path", TOGETHER, ids=name)
def test_co_finetunings_recipe(path: Path) -> None:
    recipe = read_recipe(path, TogetherRecipe)
    assert (recipe.training.learning_rate, recipe.training.batch_size, recipe.training.weight_decay) == (2e-6, 64, 0)
    assert len(recipe.models) == 3


@pytest.mark.parametrize("path", some_quick(MUKA, *MUKA[::4]), ids=name)  # quick: of Tables 1, 3 and 4
def test_muka_on_stand_ins(path: Path, tmp_path: Path) -> None:
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    labels = [labels_of(t["model"]) or [] for t in values["teachers"]]
    recipe = parse(stood_in(values, labels, tmp_path), Recipe)
    union = list(dict.fromkeys(label for known in labels for label in known))
    if recipe.labels.keep_apart:
        shared = {label for label in union if sum(label in known for known in labels) > 1}
        assert shared
        union = [f"teacher{i + 1}/{y}" if y in shared else y for i, known in enumerate(labels) for y in known]
    values["texts"] = table(tmp_path / "texts.csv", [None] * 60)
    values["evaluate"]["data"] = {"path": table(tmp_path / "test.csv", union), "label": "label"}
    found = plan_recipe(parse(values, Recipe), probe=False)
    assert found["labels"] == union
    assert [t["reads"] for t in found["teachers"]] == [60 * (1 + 16)] * len(labels)
    assert found["student_steps"] > 0
    training = recipe.training
    assert (training.epochs, training.learning_rate, training.batch_size, training.max_length) == (3, 2e-5, 32, 128)
    assert (training.epochs, training.learning_rate) == (PAPER.student["epochs"], PAPER.student["learning_rate"])


@pytest.mark.parametrize("path", some_quick(DISTILL, *DISTILL[::4]), ids=name)  # quick: of both papers
def test_distillation_on_stand_ins(path: Path, tmp_path: Path) -> None:
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    labels = [labels_of(t["model"]) or ["news", "sports", "finance"] for t in values["teachers"]]
    assert len({tuple(known) for known in labels}) == 1, "teachers of one task"
    stood_in(values, labels, tmp_path)
    values["student"] |= {"layers": 2}
    if "encoder" in values["method"]:
        values["method"]["encoder"] = str(tmp_path / "encoder")
    pair = "text_pair" in values["texts"]
    values["texts"] = block(tmp_path / "train.csv", labels[0] * 20, pair)
    for key in ("validation", "evaluate"):
        values[key]["data"] = block(tmp_path / f"{key}.csv", labels[0] * 4, pair)
    found = plan_recipe(parse(values, DistillRecipe), probe=False)
    assert found["labels"] == labels[0]
    assert found["texts"]["used"] == 20 * len(labels[0])
    assert found["student_steps"] > 0
    training, method = values["training"], values["method"]
    if method["name"] == "rl_kd":
        assert (training["batch_size"], training["max_length"], training["epochs"]) == (32, 128, 4)
        assert training["learning_rate"] in (1e-5, 2e-5, 5e-5)
        assert method["alpha"] in (0.2, 0.5, 0.7)
        assert method["temperature"] in (5, 10, 20)
        assert method["gamma"] in (0.3, 0.5, 0.7, 0.9)
        assert method["pretrain_epochs"] <= 4
    else:
        assert (training["batch_size"], training["learning_rate"], training["weight_decay"]) == (64, 5e-6, 0)
        assert method["temperature"] == 1


@pytest.mark.parametrize("path", STRATANET, ids=name)
def test_stratanet_on_stand_ins(path: Path, tmp_path: Path) -> None:
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    labels = [labels_of(t["model"]) or [] for t in values["teachers"]]
    assert (values["generation"]["candidates"], values["generation"]["max_tokens"]) == (200, 128)
    stood_in(values, labels, tmp_path)
    values["student"] |= {"layers": 2}
    values["evaluate"]["data"] = block(tmp_path / "test.csv", [y for known in labels for y in known], pair=False)
    found = plan_recipe(parse(values, Recipe), probe=False)
    assert found["labels"] == [label for known in labels for label in known]
    assert found["generation"]["texts"] == {f"teacher{i + 1}": 1000 * len(known) for i, known in enumerate(labels)}
    assert found["generation"]["reads_each"] == 128 * 200


def stood_in(values: dict[str, Any], labels: list[list[str]], folder: Path) -> dict[str, Any]:
    """Tiny models in place of the paper's, an output of our own."""
    for teacher, known in zip(values["teachers"], labels, strict=True):
        teacher["model"] = str(tiny.classifier(folder / teacher["name"], known, "bert"))
    student = str(tiny.encoder(folder / "encoder", "bert"))
    values["student"] = student if isinstance(values["student"], str) else {"model": student}
    values["output"] = str(folder / "run")
    return values


def block(path: Path, labels: list[Any], pair: bool) -> dict[str, str]:
    return {"path": table(path, labels, pair), "label": "label"} | ({"text_pair": "text_pair"} if pair else {})


def table(path: Path, labels: list[Any], pair: bool = False) -> str:
    columns = [tiny.texts(len(labels)), *([tiny.texts(len(labels), seed=4)] if pair else []), labels]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *(["text_pair"] if pair else []), "label"])
        writer.writerows(zip(*columns, strict=True))
    return str(path)


def test_groups_of_labels_are_the_appendixs() -> None:
    """The same groups as the benchmarks draw, in as far as the label names are the same."""
    for folder, data in (
        ("muka/table1/ag_news", AG_NEWS),
        ("muka/table1/google_snippets", SNIPPETS),
        ("stratanet/ohsumed", OHSUMED),
    ):
        assert [labels_of(f"runs/{folder}/teacher{i}") for i in (1, 2)] == data.split(2)
    assert labels_of("runs/muka/table3/4-teachers/teacher4") == ["Politics", "Game", "Technology", "Finance"]
