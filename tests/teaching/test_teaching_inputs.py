"""What `teach` says of its labels before it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commandline import write_csv

from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.teaching.teaching_inputs import checked_inputs


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
