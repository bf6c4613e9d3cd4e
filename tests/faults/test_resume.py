"""What a crash can leave behind: half a checkpoint, checkpoints without a student, a disk that was full."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from interrupted import Reference, amalgamate, result_of
from safetensors import SafetensorError

from alloykit.errors import AlloyError
from alloykit.training.checkpoints import last_complete_checkpoint
from alloykit.training.selection import Selection

pytestmark = pytest.mark.slow


@pytest.fixture
def run(recipe_file: Path, unsaved: Path) -> Path:
    """Training has ended, but the student was not saved."""
    folder = recipe_file.parent / "run"
    shutil.copytree(unsaved, folder)
    record = folder / "recipe.yaml"
    record.write_text(record.read_text().replace(str(unsaved.parent), str(recipe_file.parent)))
    return folder


def resume(run: Path) -> dict[str, bytes]:
    return result_of(amalgamate(yaml.safe_load((run.parent / "recipe.yaml").read_text())))


def checkpoints(run: Path) -> list[Path]:
    return sorted((run / "training" / "train").glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1]))


def test_a_crash_after_the_last_step(run: Path, reference: Reference, capsys: pytest.CaptureFixture[str]) -> None:
    """2.3 epochs: the last step is not the last of its epoch, and no further one may be made."""
    steps = int(checkpoints(run)[-1].name.split("-")[1])
    assert resume(run) == reference.result
    said = capsys.readouterr().err
    assert f"going on from step {steps} of {steps}" in said
    assert "steps in" not in said, "no step is made again"


def test_a_finished_student_keeps_its_temperature(
    run: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again with other versions or another number of threads, the run may find another one."""
    shutil.copytree(reference.folder / "student", run / "student")
    wanted = json.loads((run / "student" / "config.json").read_text())["alloykit_temperature"]
    monkeypatch.setattr("alloykit.evaluation.student_confidence.fit_temperature", lambda *_: wanted + 1e-9)
    assert resume(run) == reference.result
    assert json.loads((run / "metrics.json").read_text())["student"]["temperature"] == wanted


def half_written(last: Path) -> None:
    (last / "alloykit_complete.json").unlink()
    (last / "optimizer.pt").write_bytes(b"half")
    (last / "model.safetensors").unlink()


def only_garbage(last: Path) -> None:
    later = last.with_name("checkpoint-9999")
    later.mkdir()
    (later / "model.safetensors").write_bytes(b"half")


@pytest.mark.parametrize("damage", [half_written, only_garbage])
def test_half_a_checkpoint_is_removed_and_does_not_count(
    damage: Callable[[Path], None], run: Path, reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    before, last = checkpoints(run)
    damage(last)
    assert last_complete_checkpoint(run / "training" / "train") == (before if damage is half_written else last)
    assert len(checkpoints(run)) == (1 if damage is half_written else 2)
    assert resume(run) == reference.result
    step = (before if damage is half_written else last).name.split("-")[1]
    assert f"going on from step {step} of" in capsys.readouterr().err


def test_a_half_saved_student_does_not_count(run: Path, reference: Reference) -> None:
    (run / ".student.tmp").mkdir()
    (run / ".student.tmp" / "config.json").write_text("{}")
    assert resume(run) == reference.result
    assert not (run / ".student.tmp").exists()


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: every write after that fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("what", ["model.safetensors", "optimizer.pt"])
def test_a_disk_that_is_full_during_training(what: str, run: Path, reference: Reference) -> None:
    """The weights of a check fit or do not; the optimiser's state is twice as large."""
    size = (checkpoints(run)[-1] / what).stat().st_size
    shutil.rmtree(run / "training")
    with small_disk(size - 1000), pytest.raises(AlloyError, match=r"room .*same command again"):
        resume(run)
    assert not (run / "student").exists()
    assert not list(run.rglob("*.tmp"))
    assert resume(run) == reference.result


def no_number(training: Path) -> None:
    (training / "checkpoint-abc").mkdir()
    (training / "checkpoint-abc" / "alloykit_complete.json").write_text("{}")


def empty_but_marked(training: Path) -> None:
    for step in (1, 9999):
        (training / f"checkpoint-{step}").mkdir()
        (training / f"checkpoint-{step}" / "alloykit_complete.json").write_text(f'{{"step": {step}}}')


def changed_weights(training: Path) -> None:
    with (newest(training) / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")


def a_file_too_many(training: Path) -> None:
    (newest(training) / "scheduler.pt").rename(newest(training) / "other.pt")


def another_kind_of_marker(training: Path) -> None:
    (newest(training) / "alloykit_complete.json").write_text('["step", 5]')


def newest(training: Path) -> Path:
    return checkpoints(training.parents[1])[-1]


@pytest.mark.parametrize(
    "damage", [no_number, empty_but_marked, changed_weights, a_file_too_many, another_kind_of_marker]
)
def test_a_damaged_checkpoint_does_not_count(damage: Callable[[Path], None], run: Path) -> None:
    training = run / "training" / "train"
    before, last = checkpoints(run)
    damage(training)
    untouched = damage in (no_number, empty_but_marked)
    assert last_complete_checkpoint(training) == (last if untouched else before)
    assert {path.name for path in training.glob("checkpoint-*")} == {
        before.name,
        *([last.name] if untouched else []),
        *(["checkpoint-abc"] if damage is no_number else []),
        *(["checkpoint-1"] if damage is empty_but_marked else []),
    }


def test_a_checkpoint_that_is_a_link_is_not_followed(run: Path, tmp_path: Path) -> None:
    training = run / "training" / "train"
    _, last = checkpoints(run)
    shutil.copytree(last, tmp_path / "elsewhere")
    (training / "checkpoint-9999").symlink_to(tmp_path / "elsewhere")
    assert last_complete_checkpoint(training) == last
    assert not (training / "checkpoint-9999").is_symlink()
    assert (tmp_path / "elsewhere" / "model.safetensors").exists()


CHECKS = {
    "not there": None, "no JSON": b"[", "not UTF-8": b"\xff", "an object": b"{}", "other fields": b'[{"step": 1}]',
    "wrong types": b'[{"step": "5", "mean": 1.0, "standard_error": 0.0, "sha256": ""}]',
    "other weights": b'[{"step": 5, "mean": 1.0, "standard_error": 0.0, "sha256": "00"}]',
}  # fmt: skip


@pytest.mark.parametrize("content", CHECKS.values(), ids=CHECKS)
def test_damaged_checks_are_noticed(content: bytes | None, run: Path) -> None:
    folder = run / "training" / "train" / "checks"
    (folder / "checks.json").unlink()
    if content is not None:
        (folder / "checks.json").write_bytes(content)
    assert not Selection(folder, "unlabelled").resume(10)


def test_training_begins_anew_where_the_checks_are_damaged(
    run: Path, reference: Reference, capsys: pytest.CaptureFixture[str]
) -> None:
    for weights in (run / "training" / "train" / "checks").glob("step-*"):
        weights.write_bytes(b"half")
    assert resume(run) == reference.result
    assert "training starts from the beginning" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0"),
        RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"),
        OSError(28, "No space left on device"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
    ids=["unexpected pos", "stream writer", "OSError", "safetensors"],
)
def test_a_checkpoint_that_cannot_be_written(error: Exception, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch and safetensors each have their own way of saying it; the user gets one message."""
    shutil.rmtree(run / "training")

    def fail(*_: object) -> None:
        raise error

    with (
        monkeypatch.context() as full,
        pytest.raises(AlloyError, match="checkpoints in .*same command again") as caught,
    ):
        full.setattr("transformers.Trainer._save_checkpoint", fail)
        resume(run)
    assert ("Free some space" in str(caught.value)) == ("space" in str(error))
    assert not (run / "student").exists()
