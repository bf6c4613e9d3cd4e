"""Changed bytes of weights that alloykit wrote are refused. Without the check they would give other answers and no error."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import tiny
from commandline import Finished

from alloykit import AlloyError
from alloykit.models.checksums import CHECKSUMS
from alloykit.serving.predictor import Predictor

WEIGHTS = "model.safetensors"


def damage(file: Path) -> None:
    """Another byte, in the last number but one."""
    content = bytearray(file.read_bytes())
    content[-5] ^= 0xFF
    file.write_bytes(content)


@pytest.fixture
def student(finished: Finished, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished.folder / "student", tmp_path / "student"))


def test_the_students_checksums_are_those_of_its_weights(student: Path) -> None:
    lines = (student / CHECKSUMS).read_text().splitlines()
    assert lines == [
        f"{hashlib.sha256((student / WEIGHTS).read_bytes()).hexdigest()}  {WEIGHTS}"
    ]  # as `sha256sum -c` reads them


def test_changed_weights_are_refused_until_the_user_says_that_they_are_right(student: Path) -> None:
    before = Predictor.load(student).logits(["refund the card"])
    damage(student / WEIGHTS)
    with pytest.raises(AlloyError, match="the file model.safetensors of .* as it was saved.* delete SHA256SUMS"):
        Predictor.load(student)
    (student / CHECKSUMS).unlink()
    assert not Predictor.load(student).logits(["refund the card"]).equal(before)


def test_another_programs_list_is_read_where_it_names_the_weights(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ["a", "b"])
    lines = ["# of somebody else", "d41d8cd98f00b204e9800998ecf8427e  model.safetensors", f"{'0' * 64} *other.bin"]
    (folder / CHECKSUMS).write_bytes("\n".join(lines).encode() + b"\n\xff\n")
    Predictor.load(folder)
    (folder / CHECKSUMS).write_text(f"{'0' * 64} *{WEIGHTS}\n")
    with pytest.raises(AlloyError, match=CHECKSUMS):
        Predictor.load(folder)
