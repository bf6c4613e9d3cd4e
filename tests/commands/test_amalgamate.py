"""`amalgamate`: what it prints, what it leaves in its folder, and that it is done only once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from commandline import Call, Finished, execute, files_of, write_recipe
from toy import LABELS


def test_what_amalgamate_says_and_leaves(finished: Finished) -> None:
    result = finished.result
    assert result.code == 0, result.err
    assert result.out.splitlines()[-2:] == [
        f"student: {finished.folder / 'student'}",
        f"report: {finished.folder / 'report.html'}",
    ]
    assert any("student" in line for line in result.out.splitlines()[:-1])
    assert "sweep: 2 teachers × 300 texts × (1 plain + 4 Monte-Carlo passes)" in result.err
    assert "Warning" not in result.err
    assert "Loading weights" not in result.err
    assert {p.name for p in finished.folder.iterdir()} >= {
        "student", "metrics.json", "recipe.yaml", "environment.json", "cache", "training.json",
    }  # fmt: skip


@pytest.mark.slow
def test_amalgamate_in_a_process_of_its_own(finished: Finished, tmp_path: Path) -> None:
    recipe = yaml.safe_load(finished.recipe.read_text()) | {"output": str(tmp_path / "run")}
    result = execute("amalgamate", write_recipe(tmp_path, recipe))
    assert result.code == 0, result.err
    assert result.out == finished.result.out.replace(str(finished.folder), str(tmp_path / "run"))
    assert "Warning" not in result.err
    assert "Loading weights" not in result.err
    scores = [
        json.loads((run / "metrics.json").read_text())["evaluation"] for run in (finished.folder, tmp_path / "run")
    ]
    assert scores[0] == scores[1]


def test_the_run_folder_says_what_made_it(finished: Finished) -> None:
    recipe = yaml.safe_load((finished.folder / "recipe.yaml").read_text())
    assert recipe["training"]["warmup"] == 0.1, "defaults are written out"
    assert recipe["method"]["temperature"] == 0.2
    assert [t["name"] for t in recipe["teachers"]] == ["billing", "delivery"]
    metrics = json.loads((finished.folder / "metrics.json").read_text())
    assert metrics["labels"] == list(LABELS)
    assert metrics["texts"]["used"] == 300
    environment = json.loads((finished.folder / "environment.json").read_text())
    assert environment["packages"]["torch"].startswith("2.")


def test_the_resolved_recipe_is_a_recipe_that_finds_everything_done(
    finished: Finished, tmp_path: Path, call: Call
) -> None:
    copy = shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    student = files_of(copy / "student")
    recipe = yaml.safe_load((copy / "recipe.yaml").read_text()) | {"output": str(copy)}
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    assert result.code == 0, result.err
    assert files_of(copy / "student") == student
    assert " steps in " not in result.err


def test_amalgamate_refuses(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    result = call("amalgamate", write_recipe(tmp_path, recipe | {"trainig": {}}))
    result.refused("trainig", "did you mean 'training'")
    assert result.err == result.message + "\n", "nothing but the message"
    assert not (tmp_path / "run").exists()
