"""What a run that starts again finds in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import CHANGES, EXPORT, STATE
from alloykit.run_folder.run_folder import open_run


def recipe_in(folder: Path) -> Recipe:
    return parse({"teachers": ["a", "b"], "texts": "t.csv", "student": "c", "output": str(folder)}, Recipe)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_that_was_killed_before_its_training_keeps_its_fit(overwrite: bool, tmp_path: Path) -> None:
    """The file says what it was made of, so it is used only if it fits. `--overwrite` removes it."""
    recipe = recipe_in(tmp_path)
    open_run(recipe, {"texts": "1"})
    (tmp_path / STATE).write_bytes(b"fit")
    (tmp_path / "report.html").write_text("of an earlier run")
    open_run(recipe, {"texts": "1"}, overwrite=overwrite)
    assert (tmp_path / STATE).exists() is not overwrite
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_was_made_of_an_earlier_student_goes_with_it(overwrite: bool, tmp_path: Path) -> None:
    """Without a student, it is that of a student that somebody has removed."""
    open_run(recipe_in(tmp_path), {})
    (tmp_path / EXPORT).mkdir(parents=True)
    (tmp_path / EXPORT / "config.json").write_text("{}")
    (tmp_path / "export" / "mine").mkdir()
    (tmp_path / CHANGES).write_text("{}")
    open_run(recipe_in(tmp_path), {}, begun=True)
    assert (tmp_path / EXPORT).exists()
    open_run(recipe_in(tmp_path), {}, overwrite=overwrite)
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["mine"]
    assert not (tmp_path / CHANGES).exists()


def test_no_link_to_an_export_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "onnx"
    elsewhere.mkdir(parents=True)
    run = tmp_path / "run"
    run.mkdir()
    (run / "export").symlink_to(elsewhere.parent)
    (run / "recipe.yaml").write_text("")
    with pytest.raises(AlloyError, match="a link to"):
        open_run(recipe_in(run), {}, overwrite=True)
    assert elsewhere.exists()
