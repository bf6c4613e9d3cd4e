"""A student that starts from an earlier one: every weight, and the head's rows by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tiny
import torch
from some_quick import some_quick

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.stages.train_student import save_classifier
from alloykit.training.continued_student import check_earlier_student, last_layer_name
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

BEFORE = LabelSpace.union([["bug", "login", "refund"]])
AFTER = LabelSpace.union([["refund", "late"], ["bug", "late"]])


@pytest.mark.parametrize("kind", some_quick(["bert", "roberta", "modernbert", "pooled"], "bert", "pooled"))
def test_weights_are_copied_and_rows_go_by_name(kind: str, tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder", "bert" if kind == "pooled" else kind)
    spec = StudentSpec(model=str(folder), layers=2, head="pooled" if kind == "pooled" else "plain")
    earlier, words = build_student(spec, BEFORE, seed=1)
    with torch.no_grad():
        for value in earlier.parameters():
            value.add_(0.1 * torch.randn_like(value))
    save_classifier(earlier, words, tmp_path / "student", 32)
    fresh, _ = build_student(spec, AFTER, seed=2)
    continued = spec.model_copy(update={"continues": str(tmp_path / "student")})
    check_earlier_student(continued, 2)
    model, _ = build_student(continued, AFTER, seed=2)
    last = last_layer_name(model)
    old, new, begun = (m.state_dict() for m in (earlier, model, fresh))
    for key in new:
        if not key.startswith(f"{last}."):
            torch.testing.assert_close(new[key], old[key], rtol=0, atol=0)
    weight = f"{last}.weight"
    for name in AFTER.names:
        source = old[weight][BEFORE.position(name)] if name != "late" else begun[weight][AFTER.position(name)]
        torch.testing.assert_close(new[weight][AFTER.position(name)], source, rtol=0, atol=0)
    assert tuple(model.config.id2label.values()) == AFTER.names


def test_a_saved_student_is_synced_before_its_checkpoints_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power cut takes both."""
    synced = set[int]()
    monkeypatch.setattr("os.fsync", lambda file: synced.add(os.fstat(file).st_ino))
    student, words = build_student(StudentSpec(model=str(tiny.encoder(tmp_path / "encoder")), layers=2), BEFORE)
    save_classifier(student, words, tmp_path / "student", 32)
    assert {path.stat().st_ino for path in [tmp_path / "student", *(tmp_path / "student").iterdir()]} <= synced


def test_another_shape_is_refused(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    student, words = build_student(StudentSpec(model=str(folder), layers=2), BEFORE)
    save_classifier(student, words, tmp_path / "student", 32)
    spec = StudentSpec(model=str(folder), layers=1, continues=str(tmp_path / "student"))
    with pytest.raises(AlloyError, match=r"a bert of 1 layers.* got a bert of 2 layers"):
        check_earlier_student(spec, 1)
    with pytest.raises(AlloyError, match="continues"):
        check_earlier_student(spec.model_copy(update={"head": "pooled"}), 2)
    other = tiny.encoder(tmp_path / "other", intermediate_size=48)  # of the same depth and width
    spec = StudentSpec(model=str(other), layers=2, continues=str(tmp_path / "student"))
    check_earlier_student(spec, 2)
    with pytest.raises(AlloyError, match=r"weights that fit BertForSequenceClassification .*; got none for bert\."):
        build_student(spec, BEFORE)
