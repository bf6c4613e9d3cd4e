"""What can be wrong in a recipe, its texts and its output: one message each that says so, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import Call, collect, write_csv, write_recipe

Recipe = dict[str, Any]
Spoil = Callable[[Recipe, Path], Any]


def text_file(name: str, content: bytes | str) -> Spoil:
    """`texts:` is a file of this content."""

    def spoil(recipe: Recipe, tmp: Path) -> None:
        path = tmp / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        recipe["texts"] = str(path)

    return spoil


def put(**values: Any) -> Spoil:
    """Replace blocks of the recipe."""
    return lambda recipe, tmp: recipe.update(values)


def with_training(**values: Any) -> Spoil:
    return lambda recipe, tmp: recipe["training"].update(values)


def without(key: str) -> Spoil:
    return lambda recipe, tmp: recipe.pop(key) and None


def labelled(*labels: str, block: str = "evaluate", text: str = "text") -> Spoil:
    """A block of labelled texts with these labels."""

    def spoil(recipe: Recipe, tmp: Path) -> None:
        path = write_csv(tmp / f"{block}.csv", [("refund my card", label) for label in labels], (text, "label"))
        recipe[block] = {"data": {"path": str(path), "label": "label"}}
        if block == "validation":
            recipe["training"]["select"] = "labelled"

    return spoil


CASES: dict[str, tuple[Spoil, tuple[str, ...]]] = {
    # Texts
    "wrong text column": (put(texts={"path": "texts.csv", "text": "body"}), ("column 'body'", "'text'", "texts.csv")),
    "file of another column": (text_file("other.csv", "body\nhi\n"), ("column 'text'", "'body'", "text: body")),
    "missing file": (put(texts="textz.csv"), ("textz.csv", "Did you mean 'texts.csv'")),
    "empty file": (text_file("empty.csv", ""), ("empty.csv", "column 'text'")),
    "header only": (text_file("header.csv", "text\n"), ("at least one usable text in '", "header.csv'", "no rows")),
    "all texts empty": (text_file("blank.csv", 'text\n""\n"  "\n'), ("usable text", "2 empty text")),
    "not UTF-8": (text_file("latin.csv", "text\ncafé\n".encode("latin-1")), ("UTF-8", "0xe9", "iconv")),
    "ragged csv": (text_file("ragged.csv", "text\nhello, world\n"), ("well-formed csv", "line 2", "quotes")),
    "broken jsonl": (text_file("bad.jsonl", '{"text": "hi"}\n{"text": \n'), ("JSON object", "line 2")),
    "unknown ending": (text_file("texts.docx", "hi"), (".csv", "texts.docx")),
    "no origin of texts": (put(texts={"text": "body"}), ("`path`", "`dataset`", "neither")),
    "texts without a value": (put(texts=None), ("texts",)),
    "salt is not set": (put(texts={"path": "texts.csv", "salt_env": "NO_SUCH_SALT"}), ("NO_SUCH_SALT", "salt")),
    # Recipe
    "unknown key": (put(trainig={"epochs": 1}), ("trainig", "did you mean 'training'")),
    "unknown key of training": (with_training(epoch=1), ("training.epoch", "did you mean 'epochs'")),
    "unknown key of a teacher": (
        put(teachers=[{"model": "a", "label": {"LABEL_0": "x"}}]), ("teachers.0.label", "did you mean 'labels'"),
    ),
    "unknown key of texts": (put(texts={"path": "texts.csv", "txt": "body"}), ("texts.txt", "did you mean 'text'")),
    "wrong type": (with_training(epochs="many"), ("training.epochs", "number", "'many'")),
    "negative number": (with_training(batch_size=-1), ("training.batch_size", "greater than 0", "-1")),
    "several problems": (put(trainig={}, device="tpu"), ("2 problem", "trainig", "device", "'tpu'")),
    "no teachers": (put(teachers=[]), ("teachers", "at least 1")),
    "no output": (without("output"), ("output", "is missing")),
    "no texts": (without("texts"), ("texts", "is missing")),
    "scheduler": (with_training(scheduler="linaer"), ("scheduler", "linaer", "linear")),
    "tracker": (with_training(report_to=["tensorbord"]), ("report_to", "tensorbord")),
    # Method
    "unknown method": (put(method="mukka"), ("'mukka'", "Did you mean 'muka'")),
    "method without name": (put(method={"passes": 4}), ("method", "name", "alloykit methods")),
    "unknown option": (put(method={"name": "muka", "pases": 4}), ("method", "pases: unknown key", "did you mean 'passes'")),
    "wrong type of an option": (put(method={"name": "muka", "passes": "many"}), ("method", "passes: ", "integer", "'many'")),
    "contradiction": (
        put(method={"name": "muka", "direction": "reverse", "mode": "hard"}), ("reverse", "hard", "smoothing > 0"),
    ),
    "wrong inner method": (put(method={"name": "pseudo_label", "of": "uhc"}), ("`of`", "pseudo_label", "'uhc'")),
    "teacher out of range": (put(method={"name": "teacher", "which": 5}), ("'teacher'", "2")),
    "labels needed": (put(method="supervised"), ("label", "texts.csv", "supervised")),
    "selection needs labels": (with_training(select="labelled"), ("validation", "none", "unlabelled")),
    # Labels
    "evaluation of foreign labels": (labelled("refund", "weather"), ("'weather'", "refund", "aliases")),
    "evaluation without text column": (labelled("refund", text="body"), ("column 'text'", "evaluate.csv")),
    "validation of foreign labels": (labelled("weather", block="validation"), ("'weather'", "refund")),
    "missing evaluation file": (put(evaluate={"data": "no.csv"}), ("no.csv",)),
    "alias of an unknown label": (put(labels={"aliases": {"refnd": "money"}}), ("'refnd'", "Did you mean 'refund'")),
    "chained aliases": (
        put(labels={"aliases": {"refund": "charge", "charge": "pay"}}), ("'refund' -> 'charge' -> 'pay'", "refund: pay"),
    ),
    "alias makes labels equal": (put(labels={"aliases": {"refund": "charge"}}), ("billing", "'charge'", "once")),
    "unknown label to keep apart": (put(labels={"keep_apart": ["parcel"]}), ("'parcel'", "keep apart")),
    # Machine
    "no GPU": (put(device="cuda"), ("GPU", "none", "device: auto")),
    "precision": (with_training(precision="float8"), ("training.precision", "'float8'", "bfloat16")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_recipe_is_refused_before_anything_is_written(name: str, recipe: Recipe, tmp_path: Path, call: Call) -> None:
    spoil, words = CASES[name]
    spoil(recipe, tmp_path)
    path = write_recipe(tmp_path, recipe)
    result = call("amalgamate", path)
    collect(name, result)
    result.refused(*words)
    assert not (tmp_path / "run").exists()
    if counted := re.search(r"got (\d+) problem", result.message):
        assert int(counted[1]) == result.message.count("\n  - "), "as many problems as are listed"
    assert call("plan", path).message == result.message, "plan refuses what amalgamate refuses, in the same words"


WHOLE_FILES = {
    "broken YAML": ("teachers: [a\ntexts: b\n", ("YAML", "line 2", "recipe.yaml")),
    "tab in YAML": ("teachers:\n\t- a\n", ("YAML", "'\\t'", "line 2")),
    "a list": ("- teachers\n- texts\n", ("`key: value`", "list", "teachers:")),
    "empty recipe": ("", ("`key: value`", "empty")),
}


@pytest.mark.parametrize("name", WHOLE_FILES)
def test_a_file_that_is_no_recipe_is_refused(name: str, tmp_path: Path, call: Call) -> None:
    content, words = WHOLE_FILES[name]
    result = call("amalgamate", write_recipe(tmp_path, content))
    collect(name, result)
    result.refused(*words)


@pytest.mark.parametrize("command", ["plan", "sweep", "amalgamate", "teach"])
def test_a_recipe_that_does_not_exist_is_refused(command: str, tmp_path: Path, call: Call) -> None:
    result = call(command, "no.yaml")
    collect(f"{command}: missing recipe", result)
    result.refused("recipe", "'no.yaml'", "does not exist")
    result = call(command, tmp_path)
    collect(f"{command}: recipe is a folder", result)
    result.refused("recipe file", "folder")


@pytest.mark.parametrize("part", ["5/4", "0/4", "1", "1/0", "a/b", "1/2/3", "-1/4"])
def test_a_part_that_does_not_exist_is_refused(part: str, recipe: Recipe, tmp_path: Path, call: Call) -> None:
    result = call("sweep", write_recipe(tmp_path, recipe), f"--part={part}")
    collect(f"--part {part}", result)
    result.refused("--part", f"'{part}'", "1/4")
    assert not (tmp_path / "run").exists()
