"""What a student learns from and is checked on, from the pool and the labelled texts; how it is saved; and what is asked of it afterwards."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from random_rows import Pool, context_of, rows_of, space_of, take

from alloykit.data import load_texts
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.methods.registry import create
from alloykit.stages.knowledge import LabelledOutputs
from alloykit.stages.student_on_pool import StudentOnPool
from alloykit.stages.train_student import _examples, _Student, save_classifier
from alloykit.training.dataset import split_held_out
from alloykit.training.training_options import TrainingOptions

N, FEW = 40, 8


def examples(select: str, *, labelled: bool = False, validated: bool = False) -> Any:
    method, rows = create("uhc"), rows_of("disjoint", N + FEW)
    options = TrainingOptions(select=select, held_out=0.1, seed=3)
    prepared: Any = SimpleNamespace(
        recipe=SimpleNamespace(training=options), method=method, texts=load_texts(tiny.texts(N)), epochs=2.0
    )

    def outputs() -> LabelledOutputs:
        return LabelledOutputs(
            load_texts(tiny.texts(FEW, seed=9)),
            torch.zeros(FEW, dtype=torch.int64),
            Pool(take(rows, range(N, N + FEW))),
        )

    return _examples(
        prepared, _Student(None, tiny.tokenizer(), 16, "head"), Pool(take(rows, range(N))),
        context_of(method, rows, space_of("disjoint")), outputs() if validated else None, outputs() if labelled else None,
    )  # fmt: skip


@pytest.mark.parametrize("labelled", [False, True])
def test_texts_of_the_pool_are_held_out_and_all_labelled_ones_are_learned_from(labelled: bool) -> None:
    found = examples("unlabelled", labelled=labelled)
    held_out = split_held_out(N, 0.1, 3)[1]
    np.testing.assert_array_equal(found.checks.rows, held_out)
    everything = np.arange(N + FEW if labelled else N)
    np.testing.assert_array_equal(found.dataset.rows, np.setdiff1d(everything, held_out))
    assert found.check_source is None
    assert len(found.source) == len(everything)


def test_with_validation_texts_or_without_checks_the_whole_pool_is_learned_from() -> None:
    found, last = examples("labelled", validated=True), examples("last")
    assert len(found.dataset) == len(last.dataset) == N
    assert len(found.checks) == len(found.check_source) == len(found.validation[0]) == FEW
    assert (last.checks, last.check_source, last.validation) == (None, None, None)
    assert len(examples("unlabelled", validated=True).validation[1]) == FEW, "a method may measure its student on them"


class Saved:
    """A model, or a tokenizer, with one file."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name, self.error, self.model_max_length, self.device = name, error, 512, "cuda"

    def to(self, device: str) -> Saved:
        self.device = device
        return self

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / self.name).write_text(f"{self.name} {self.model_max_length}")
        if self.error is not None:
            raise self.error


def test_a_student_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    student = tmp_path / "student"
    with pytest.raises(AlloyError):
        save_classifier(Saved("model.safetensors"), Saved("tokenizer.json", OSError(28, "No space left")), student, 7)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".student.tmp").mkdir()
    (tmp_path / ".student.tmp" / "of a killed process").touch()
    save_classifier(model := Saved("model.safetensors"), Saved("tokenizer.json"), student, 7)
    assert model.device == "cpu"
    assert {path.name for path in student.iterdir()} == {"model.safetensors", "tokenizer.json", "SHA256SUMS"}
    assert (student / "tokenizer.json").read_text() == "tokenizer.json 7", "it cuts texts as in training"
    assert [path.name for path in tmp_path.iterdir()] == ["student"]


def test_the_pool_is_asked_by_place_and_shown_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty rows of the input are no texts of the pool, so that the two differ."""
    with pytest.warns(AlloyWarning, match="2 empty text"):
        texts = load_texts(["", *tiny.texts(3), " ", "the last one"])
    asked: list[str] = []

    def answers(these: Any, pairs: Any, title: str) -> tuple[torch.Tensor, None]:
        asked.extend(these)
        return torch.full((len(these), 2), 0.5), None

    found = StudentOnPool.of(texts, SimpleNamespace(with_states=answers), TrainingOptions())  # type: ignore[arg-type]
    assert found.positions == [0, 1, 2, 3]
    assert found.rows == [1, 2, 3, 5]
    assert asked == [*tiny.texts(3), "the last one"]
    assert found.unseen.tolist() == [False] * 4, "of four texts none is held out"
    monkeypatch.setattr("alloykit.training.pool_sample.ASKED", 2)
    asked.clear()
    some = StudentOnPool.of(texts, SimpleNamespace(with_states=answers), TrainingOptions())  # type: ignore[arg-type]
    assert asked == [texts.table["text"][i] for i in some.positions]
    assert len(asked) == len(some.probabilities) == 2
    entries: list[dict[str, Any]] = [{"row": 5}, {"row": 1}]
    found.show(entries)
    assert [entry["text"] for entry in entries] == ["the last one", tiny.texts(3)[0]]
