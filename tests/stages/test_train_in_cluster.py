"""`engine: {trainers: N}`: what is refused before anything runs, and that the run takes the student which other processes have trained.

Ray Train itself is run by `python -m benchmarks scale training`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny

import alloykit
from alloykit.engines.engine_options import EngineOptions
from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.stages import train_in_cluster as module
from alloykit.stages.amalgamation import run_recipe

pytestmark = pytest.mark.slow

TWO = {"name": "ray", "trainers": 2}


def test_what_is_refused_before_anything_runs(
    recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(message: str, **changes: Any) -> None:
        with pytest.raises(AlloyError, match=message):
            run_recipe(parse(recipe | {"engine": TWO} | changes, Recipe))
        assert not Path(str(recipe["output"])).exists()

    refused("set `name: ray` too", engine={"trainers": 2})
    refused("a method whose student 2 processes can train together", method="cfl")
    refused("2 processes can share equally", training={"batch_size": 5})
    refused("several processes with a GPU each.*fsdp.*got 2 processes on CPUs", training={"arguments": {"fsdp": True}})
    with pytest.raises(AlloyError, match="texts in files"):
        alloykit.amalgamate(recipe["teachers"], tiny.texts(20), recipe["student"], output=tmp_path / "run", engine=TWO)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused("one process for `engine: {trainers: 2}`")


def test_the_run_takes_the_student_of_the_trainers(recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    called = []

    def train(options: EngineOptions, work: Callable[[], None], folder: Path) -> None:
        called.append(options.trainers)
        pickle.loads(pickle.dumps(work))()

    monkeypatch.setattr(module, "run_trainers", train)
    monkeypatch.setattr("alloykit.stages.prepared.sweep_engine", lambda *_: None)  # this process sweeps
    alone = run_recipe(parse(recipe, Recipe))
    values = recipe | {"engine": TWO, "output": str(recipe["output"]) + "-two"}
    shared = run_recipe(parse(values, Recipe))
    assert called == [2]
    weights = [(run.student / "model.safetensors").read_bytes() for run in (alone, shared)]
    assert weights[0] == weights[1]
    assert "training:" in (shared.folder / "run.log").read_text()
    run_recipe(parse(values, Recipe))
    assert called == [2], "a finished student is not trained again"
