"""A recipe that does not say how fast and how long to learn: what is chosen is shown, written down, and the same again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import toy
import yaml
from commandline import Call, Taught, write_recipe

from alloykit.evaluation.learning import FALLING
from alloykit.training.schedule import MAX_RATE, Schedule, with_defaults
from alloykit.training.training_options import TrainingOptions

pytestmark = pytest.mark.slow

STRONG = {"epochs": 30, "learning_rate": 0.003, "batch_size": 16, "max_length": 32}
WEAK = {"epochs": 2, "learning_rate": 1e-5, "batch_size": 16, "max_length": 32}


@pytest.fixture
def silent(taught: Taught, tmp_path: Path) -> dict[str, Any]:
    """A recipe without a word about learning rate and epochs."""
    return {
        "teachers": [str(path) for path in taught.teachers.values()],
        "texts": str(taught.data),
        "student": {"model": str(taught.encoder), "layers": 1},
        "method": "vanilla_kd",
        "training": {"max_length": 32},
        "output": str(tmp_path / "run"),
    }


def test_what_is_chosen_is_shown_written_down_and_the_same_again(
    silent: dict[str, Any], tmp_path: Path, call: Call
) -> None:
    path = write_recipe(tmp_path, silent)
    shown = call("plan", path, "--no-probe")
    options = with_defaults(TrainingOptions(), 250, 5, 1, 64)  # 300 texts, 50 of which are held out
    steps = Schedule.of(250, options).total
    assert f"student: {steps:,} steps" in shown.out
    assert f"{options.epochs:g} epochs, learning rate {MAX_RATE:g}" in shown.out
    assert not (tmp_path / "run").exists()
    assert call("amalgamate", path).code == 0
    run = tmp_path / "run"
    made = yaml.safe_load((run / "recipe.yaml").read_text())["training"]
    assert (made["epochs"], made["learning_rate"]) == (options.epochs, MAX_RATE)
    assert json.loads((run / "training.json").read_text())["steps"] == steps
    again = call("amalgamate", path)
    assert again.code == 0, again.err
    resolved = call("plan", run / "recipe.yaml", "--no-probe")
    assert f"{options.epochs:g} epochs, learning rate {MAX_RATE:g}\n" in resolved.out, "said, no longer chosen"
    refused = call("amalgamate", write_recipe(tmp_path, silent | {"training": {"max_length": 32, "epochs": 1}}))
    assert refused.code == 2
    assert f"training.epochs: was {options.epochs}, now 1.0" in refused.err


def test_a_student_that_learned_too_little_is_told_of(silent: dict[str, Any], tmp_path: Path, call: Call) -> None:
    test = toy.labelled(tmp_path / "test.csv", 40, seed=5)
    weak = silent | {"training": WEAK, "evaluate": {"data": {"path": str(test), "label": "label"}}}
    result = call("amalgamate", write_recipe(tmp_path, weak))
    assert result.code == 0, result.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    told = [line for line in metrics["warnings"] if "under-trained" in line or "far below its routing" in line]
    assert any("far below its routing" in line for line in told)
    assert all(f"learning_rate: {MAX_RATE:g}" in line for line in told), "each says what to change"
    assert all(f"warning: {line}" in " ".join(result.err.split()) for line in told)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "points: the student learned from the routing" in page


def test_a_student_that_learned_enough_is_told_of_nothing(silent: dict[str, Any], tmp_path: Path, call: Call) -> None:
    assert call("amalgamate", write_recipe(tmp_path, silent | {"training": STRONG})).code == 0
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert not [line for line in metrics["warnings"] if "the student is" in line]
    assert metrics["learning"]["late_fall"] < FALLING / 2  # far enough that other processors come to the same


def test_a_teachers_training_is_chosen_and_written_down_too(taught: Taught, tmp_path: Path, call: Call) -> None:
    recipe = {
        "model": {"model": str(taught.encoder), "layers": 1},
        "data": {"path": str(taught.data), "label": "label"},
        "training": {"max_length": 32},
        "output": str(tmp_path / "teacher"),
    }
    path = write_recipe(tmp_path, recipe)
    assert call("teach", path).code == 0
    options = with_defaults(TrainingOptions(), 250, 5, 1, 64)
    made = yaml.safe_load((tmp_path / "teacher" / "teach.yaml").read_text())["training"]
    assert (made["epochs"], made["learning_rate"]) == (options.epochs, options.learning_rate)
    metrics = json.loads((tmp_path / "teacher" / "metrics.json").read_text())
    assert metrics["steps"] == Schedule.of(250, options).total
    assert "finished already" in call("teach", path).err
    changed = call(
        "teach", write_recipe(tmp_path, recipe | {"training": {"max_length": 32, "epochs": 1}}, "other.yaml")
    )
    assert changed.code == 2
    assert "training.epochs" in changed.err
