"""How a finished teacher gets into its folder, and which texts it learns from and is checked on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch

from alloykit.data import Texts, load_texts
from alloykit.labels import LabelSpace
from alloykit.serving.predictor import Predictor
from alloykit.teaching import teaching_folder
from alloykit.teaching.split_texts import split_texts
from alloykit.teaching.teaching_folder import install, name_of
from alloykit.training.dataset import tokenize
from alloykit.training.training_options import TrainingOptions

SPACE = LabelSpace.union([["x", "y"]])


def test_config_json_comes_last_and_the_names_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only with config.json the folder counts as a teacher."""
    done: list[str] = []

    def save(model: Any, tokenizer: Any, folder: Path, max_length: int) -> None:
        folder.mkdir()
        for name in ("config.json", "model.safetensors", "a.json", "tokenizer.json"):
            (folder / name).write_text(str(max_length))

    def replace(source: Path, target: Path) -> None:
        source.rename(target)
        done.append(target.name)

    monkeypatch.setattr(teaching_folder, "save_classifier", save)
    monkeypatch.setattr(teaching_folder, "os", SimpleNamespace(replace=replace))
    monkeypatch.setattr(teaching_folder, "sync", lambda folder: done.append(f"synced {folder.name}"))
    (tmp_path / ".ready").mkdir()
    (tmp_path / ".ready" / "of a killed process").touch()
    install(None, None, tmp_path, 7)
    assert done[3:] == ["config.json", f"synced {tmp_path.name}"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "config.json",
        "model.safetensors",
        "a.json",
        "tokenizer.json",
    }


def test_a_teacher_is_called_as_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert name_of(Path()) == tmp_path.name
    assert name_of(Path("/")) == "teacher"


def labelled(n: int, seed: int) -> Texts:
    """The first three quarters have the label x."""
    rows = [{"text": text, "label": "x" if i < 3 * n / 4 else "y"} for i, text in enumerate(tiny.texts(n, seed=seed))]
    return load_texts(rows, want_labels=True)


def test_a_teacher_is_checked_on_validation_texts_or_on_texts_that_it_did_not_learn_from() -> None:
    words, options = tiny.tokenizer(), TrainingOptions(held_out=0.1)
    texts, validation = labelled(40, 1), labelled(8, 2)
    held_out = split_texts(texts, None, options, lambda part: tokenize(part, words, 16))
    assert len(held_out.checks) == 8, "a fifth, where it is fewer than 50"
    assert sorted([*held_out.examples.rows, *held_out.checks.rows]) == list(range(40))
    given = split_texts(texts, validation, options, lambda part: tokenize(part, words, 16))
    assert (len(given.examples), len(given.checks)) == (40, 8)
    none = split_texts(
        texts, None, options.model_copy(update={"held_out": 0.0}), lambda part: tokenize(part, words, 16)
    )

    asked: list[str] = []

    def always_x(texts: list[str], pairs: Any, title: str) -> torch.Tensor:
        asked.extend(texts)
        return torch.tensor([[0.6, 0.4]]).expand(len(texts), 2)

    teacher: Predictor = SimpleNamespace(probabilities=always_x)  # type: ignore[assignment]
    assert given.accuracy(teacher, SPACE) == 0.75
    assert asked == list(validation.table["text"])
    asked.clear()
    rows = held_out.checks.rows.tolist()
    assert held_out.accuracy(teacher, SPACE) == sum(texts.table["label"][i] == "x" for i in rows) / 8 < 1
    assert asked == [texts.table["text"][i] for i in rows]
    assert none.accuracy(teacher, SPACE) is None
    assert given.finished_line("a", 0.75) == "teacher a: accuracy 75.0 % on 8 held-out texts"
    assert none.finished_line("a", None) == "teacher a: saved"
