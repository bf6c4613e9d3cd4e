"""Options that contradict each other, or that would be ignored, are refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Call, write_csv, write_recipe

import alloykit
from alloykit import AlloyError
from alloykit.data import TextsOptions
from alloykit.finished_runs.load_student import load_student


def test_two_new_models_for_one_teacher_are_refused(call: Call) -> None:
    """A dictionary would drop the first without a word."""
    call("update", "nowhere", "--replace-teacher", "a=x", "--replace-teacher", "a=y").refused("'x' and 'y' for 'a'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("predict", "MODEL", "-", "--text", "body"), ("`text`", "stream or a list", "'body'")),
        (("predict", "MODEL", "-", "--text-pair", "b"), ("`text_pair`", "'b'")),
        (("evaluate", "MODEL", "--label", "topic"), ("`label`", "without texts", "'topic'")),
        (("evaluate", "MODEL", "--data", "x.csv", "--cache", "c"), ("a run folder, for `cache`", "MODEL")),
        (("evaluate", "MODEL", "--data", "x.csv", "--engine", "local"), ("a run folder, for `engine`",)),
        (("export", "MODEL", "--onnx", "--text", "body"), ("`text`", "without texts")),
        (("export", "MODEL", "--onnx", "--min-agreement", "0.5"), ("`int8` or `fp16`",)),
        (("doctor", "--cache", "c"), ("a recipe, for --cache",)),
        (("doctor", "-o", "device=cpu"), ("a recipe, for --override",)),
        (("serve", "MODEL", "--port", "0", "--cache", "c"), ("a run folder, for --cache",)),
    ],
)
def test_an_option_that_nothing_would_read_is_refused(
    arguments: tuple[str, ...], words: tuple[str, ...], models: dict[str, Path], call: Call
) -> None:
    model = str(models["billing"])
    result = call(*(model if a == "MODEL" else a for a in arguments))
    result.refused(*(model if word == "MODEL" else word for word in words))


def test_options_from_python_that_nothing_would_read_are_refused(models: dict[str, Path], tmp_path: Path) -> None:
    block = TextsOptions(
        path=str(write_csv(tmp_path / "t.csv", [("a text", "charge")], ("body", "label"))), text="body"
    )
    with pytest.raises(AlloyError, match="`text_pair` beside a block of texts"):
        alloykit.evaluate(models["billing"], block, text_pair="b")
    assert alloykit.evaluate(models["billing"], block.model_copy(update={"label": "label"}))["texts"] == 1
    with pytest.raises(AlloyError, match="device cpu for an ONNX export"):
        load_student(models["billing"], onnx=True, device="cuda")


def test_several_questions_have_columns_of_their_own(models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    questions = {name: {"teachers": [str(models[name])]} for name in ("billing", "delivery")}
    recipe = {"questions": questions, "texts": "t.csv", "student": str(models["encoder"]), "output": str(tmp_path)}
    write_recipe(tmp_path, recipe)
    call("evaluate", tmp_path, "--data", "x.csv", "--label", "topic").refused("several questions", "'topic'")
