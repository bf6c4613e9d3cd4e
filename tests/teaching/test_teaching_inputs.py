"""What `teach` says of its labels before it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commandline import write_csv

from alloykit.errors import AlloyError
from alloykit.methods.protocol import ModelShape
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.run_folder.file_names import LOG
from alloykit.teaching import teaching_inputs
from alloykit.teaching.teaching_folder import MADE, MADE_OF
from alloykit.teaching.teaching_inputs import checked_inputs
from alloykit.training.schedule import default_rate
from alloykit.training.tracker import FOLDER


def labels_of(models: dict[str, Path], folder: Path, answers: str, **changes: Any) -> list[str]:
    data = write_csv(folder / "data.csv", [(f"text {i}", answers[i % 2]) for i in range(20)], ("text", "label"))
    values = {"model": str(models["encoder"]), "data": str(data), "output": str(folder / "teacher"), **changes}
    recipe = parse(values, TeachRecipe)
    return sorted(set(checked_inputs(recipe, [recipe.model], folder / "teacher", None)[1].table["label"]))


def test_numbers_as_labels(models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert labels_of(models, tmp_path, "01") == ["0", "1"]
    assert "warning: the labels of the texts are '0', '1'" in (said := capsys.readouterr().err)
    assert "`data: {label_names: [bug, login]}`" in said
    labels_of(models, tmp_path, "01", labels=["0", "1"])
    labels_of(models, tmp_path, "ab")
    data = {"path": str(tmp_path / "data.csv"), "label_names": ["bug", "login"]}
    labels_of(models, tmp_path, "01", data=data)
    assert "warning" not in capsys.readouterr().err


def test_spaces_around_labels(models: dict[str, Path], tmp_path: Path) -> None:
    assert labels_of(models, tmp_path, "ab", labels=["a ", "b"]) == ["a", "b"]
    with pytest.raises(AlloyError, match="got none with 'c'. The data has 'a', 'b'"):
        labels_of(models, tmp_path, "ab", labels=["a", "b", "c "])


def test_defaults_are_those_of_the_texts_that_are_learned_from(models: dict[str, Path], tmp_path: Path) -> None:
    """Of 20 texts, four are held out if there are no validation texts: 640 steps are 40 epochs of 16 texts, or 32 of 20."""

    def epochs(**changes: Any) -> float | None:
        data = {"path": str(tmp_path / "data.csv"), "label": "label"}
        values = {"model": str(models["encoder"]), "data": data, "training": {"batch_size": 1}}
        recipe = parse(values | {"output": str(tmp_path / "teacher")} | changes, TeachRecipe)
        return checked_inputs(recipe, [recipe.model], tmp_path / "teacher", None)[0].training.epochs

    write_csv(tmp_path / "data.csv", [(f"text {i}", "ab"[i % 2]) for i in range(20)], ("text", "label"))
    assert epochs() == 40
    assert epochs(validation={"data": {"path": str(tmp_path / "data.csv"), "label": "label"}}) == 32
    assert epochs(training={"batch_size": 1, "epochs": 2}) == 2


@pytest.mark.parametrize("name", ["training", FOLDER, LOG, MADE, MADE_OF, ".ready"])
def test_no_teacher_is_called_like_a_file_of_teach(name: str) -> None:
    """The folder of the checkpoints, for instance, is removed at the end."""
    values = {"models": ["a", f"encoders/{name}"], "data": "d.csv", "output": "o"}
    with pytest.raises(AlloyError, match=f"names: `teach` has files of its own under '{name}'; give another name"):
        parse(values, TogetherRecipe)
    assert parse(values | {"names": ["a", "b"]}, TogetherRecipe).model_names == ["a", "b"]


def test_encoders_together_learn_at_the_lowest_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = {"small": (3, 384), "large": (12, 768), "middle": (6, 384)}
    monkeypatch.setattr(
        teaching_inputs, "student_shape_of", lambda spec: ModelShape(shapes[spec.model][1], shapes[spec.model][0])
    )
    monkeypatch.setattr(teaching_inputs, "check_folder", lambda *_: None)
    data = write_csv(tmp_path / "data.csv", [(f"text {i}", "ab"[i % 2]) for i in range(20)], ("text", "label"))
    recipe = parse({"models": [*shapes], "data": str(data), "output": str(tmp_path / "t")}, TogetherRecipe)
    found = checked_inputs(recipe, recipe.models, tmp_path / "t", None)[0].training
    assert found.learning_rate == default_rate(12, 768)
