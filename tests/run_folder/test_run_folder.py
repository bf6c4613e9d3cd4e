"""What a run that starts again finds in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from alloykit.recipe.models import Recipe, parse
from alloykit.run_folder.file_names import STATE
from alloykit.run_folder.run_folder import open_run


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_that_was_killed_before_its_training_keeps_its_fit(overwrite: bool, tmp_path: Path) -> None:
    """The file says what it was made of, so it is used only if it fits. `--overwrite` removes it."""
    values = {"teachers": ["a", "b"], "texts": "t.csv", "student": "c", "output": str(tmp_path)}
    recipe = parse(values, Recipe)
    open_run(recipe, {"texts": "1"})
    (tmp_path / STATE).write_bytes(b"fit")
    (tmp_path / "report.html").write_text("of an earlier run")
    open_run(recipe, {"texts": "1"}, overwrite=overwrite)
    assert (tmp_path / STATE).exists() is not overwrite
    assert not (tmp_path / "report.html").exists()
