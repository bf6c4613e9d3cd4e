"""Which of a training's checkpoints is the one to go on from, and which files it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alloykit.training.checkpoints import COMPLETE_FILE, last_complete_checkpoint, mark_complete


def written(folder: Path, step: int, *, complete: bool = True) -> Path:
    checkpoint = folder / f"checkpoint-{step}"
    (checkpoint / "states").mkdir(parents=True)
    for name in ("model.safetensors", "states/0.pt"):
        (checkpoint / name).write_text(f"{name} of step {step}")
    if complete:
        mark_complete(checkpoint, step)
    return checkpoint


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_newest_by_number_counts_and_what_is_incomplete_goes(tmp_path: Path) -> None:
    for step in (5, 20, 100):
        written(tmp_path, step)
    for step in (10, 200):
        written(tmp_path, step, complete=False)
    (tmp_path / "checkpoint-300").write_text("a file")
    (tmp_path / "checkpoint-x").mkdir()
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-100"
    assert names(tmp_path) == {"checkpoint-5", "checkpoint-20", "checkpoint-100", "checkpoint-x"}
    assert last_complete_checkpoint(tmp_path / "nothing") is None


@pytest.mark.parametrize("damage", ["changed", "gone", "added", "of another step"])
def test_one_that_is_not_as_it_was_written_is_removed(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 5)
    last = written(tmp_path, 20)
    if damage == "changed":
        (last / "states" / "0.pt").write_text("states/0.pt of step 21")
    elif damage == "gone":
        (last / "model.safetensors").unlink()
    elif damage == "added":
        (last / "more").touch()
    else:
        record = json.loads((last / COMPLETE_FILE).read_text())
        (last / COMPLETE_FILE).write_text(json.dumps(record | {"step": 15}))
    assert last_complete_checkpoint(tmp_path) == tmp_path / "checkpoint-5"
    assert names(tmp_path) == {"checkpoint-5"}
    assert "checkpoint-20 is damaged, and is removed" in capsys.readouterr().err


def test_neither_a_link_nor_another_name_is_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The link is removed, and not what it leads to. What was never complete goes without a word."""
    folder = tmp_path / "training"
    written(folder, 5)
    written(folder, 10, complete=False)
    written(folder, 20).rename(folder / "checkpoint-20-mine")
    (folder / "checkpoint-30").symlink_to(written(tmp_path, 30))
    assert last_complete_checkpoint(folder) == folder / "checkpoint-5"
    assert names(folder) == {"checkpoint-5", "checkpoint-20-mine"}
    assert (tmp_path / "checkpoint-30" / COMPLETE_FILE).is_file()
    said = capsys.readouterr().err
    assert "checkpoint-30 is damaged" in said
    assert "checkpoint-10" not in said
