"""Killed at any moment and started again, a run ends with the same bytes as one that was never stopped."""

from __future__ import annotations

import re
import shutil
import signal
import time
from pathlib import Path

import pytest
import yaml
from interrupted import Reference, amalgamate, result_of, stop

pytestmark = pytest.mark.slow


def resume(recipe: Path) -> Path:
    return amalgamate(yaml.safe_load(recipe.read_text()))


def with_knowledge(recipe: Path, reference: Reference) -> Path:
    """Begin where the sweep has ended. Returns the folder of the checkpoints to come."""
    run = recipe.parent / "run"
    shutil.copytree(reference.folder / "cache", run / "cache")
    return run / "training" / "train"


def complete(folder: Path) -> list[int]:
    """Steps of the checkpoints that were written to their end."""
    return sorted(int(p.parent.name.split("-")[1]) for p in folder.glob("checkpoint-*/alloykit_complete.json"))


def test_kill_9_during_the_sweep(recipe_file: Path, reference: Reference) -> None:
    run = recipe_file.parent / "run"
    teacher = run / "cache" / "teachers" / "billing"
    stopped = stop(recipe_file, signal.SIGKILL, lambda: bool(list(teacher.glob("*/00000-*.passes-0004.safetensors"))))
    assert stopped.code == -signal.SIGKILL
    assert not list(run.glob("cache/teachers/delivery/*/*.safetensors")), (
        "the kill must land in the middle of the sweep"
    )
    assert not (run / "student").exists()
    [first] = teacher.glob("*/00000-*.logits.safetensors")
    kept = first.stat().st_mtime_ns
    assert result_of(resume(recipe_file)) == reference.result
    assert first.stat().st_mtime_ns == kept, "what was finished is taken as it is"


def test_kill_9_during_training(recipe_file: Path, reference: Reference, capsys: pytest.CaptureFixture[str]) -> None:
    folder = with_knowledge(recipe_file, reference)

    def some_steps_after_a_checkpoint() -> bool:
        if not complete(folder) or complete(folder)[-1] < 20:
            return False
        time.sleep(0.1)
        return True

    stopped = stop(recipe_file, signal.SIGKILL, some_steps_after_a_checkpoint)
    assert stopped.code == -signal.SIGKILL
    assert not (folder.parents[1] / "student").exists(), "the kill must land in the middle of training"
    done = complete(folder)[-1]
    assert 20 <= done < 60
    assert result_of(resume(recipe_file)) == reference.result
    said = capsys.readouterr().err
    total = int(re.search(rf"going on from step {done} of (\d+)", said)[1])
    assert f"training: {total - done} steps in" in said, "only what was missing is done again"


def test_ctrl_c_during_training(recipe_file: Path, reference: Reference) -> None:
    folder = with_knowledge(recipe_file, reference)
    stopped = stop(recipe_file, signal.SIGINT, lambda: bool(complete(folder)))
    assert stopped.code == 130
    assert (
        stopped.err.splitlines()[-1] == "stopped. Run the same command again; what is finished is not computed again."
    )
    assert "Traceback" not in stopped.err
    assert stopped.out == ""
    assert not (folder.parents[1] / "student").exists()
    assert result_of(resume(recipe_file)) == reference.result
