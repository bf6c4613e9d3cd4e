"""What can be wrong with teachers and students: one message each that names the model, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import tiny
import torch
from commandline import Call, collect, write_recipe

Recipe = dict[str, Any]
Spoil = Callable[[Recipe, Path], Any]


def teacher(labels: tuple[str, ...] = ("bug", "login"), **changes: Any) -> Spoil:
    """One more teacher, `odd`, with these labels and these values in its config.json."""

    def spoil(recipe: Recipe, tmp: Path) -> Path:
        folder = tiny.classifier(tmp / "odd", labels)
        edit_config(folder, **changes)
        recipe["teachers"] = [*recipe["teachers"], str(folder)]
        return folder

    return spoil


def edit_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def damaged(damage: Callable[[Path], Any]) -> Spoil:
    """One more teacher, `odd`, whose folder is spoilt by `damage`."""
    return lambda recipe, tmp: damage(teacher()(recipe, tmp))


def pickled(folder: Path) -> None:
    weights = folder / "model.safetensors"
    torch.save(safetensors.torch.load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()


def flipped(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(b"\xff" * 64 + path.read_bytes()[64:])


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def without_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()


def with_another_head(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["classifier.weight"], tensors["classifier.bias"] = torch.zeros(5, 32), torch.zeros(5)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def without_head(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = {k: v for k, v in safetensors.torch.load_file(path).items() if not k.startswith("classifier")}
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def with_own_code(folder: Path) -> None:
    code = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnModel"}
    edit_config(folder, model_type="own_model", auto_map=code)
    lines = ("raise SystemExit('the code of a model ran')", "class OwnConfig: ...", "class OwnModel: ...")
    (folder / "own.py").write_text("\n".join(lines))


def overflowing(folder: Path) -> None:
    """A teacher whose weights are finite, and whose answers are not as soon as it reads the word "parcel"."""
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    word = tiny.tokenizer().convert_tokens_to_ids("parcel")
    tensors["bert.embeddings.word_embeddings.weight"][word] = 3e38 * torch.tensor([1.0, -1.0]).repeat(16)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def not_a_number(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["classifier.weight"][0, 0] = float("nan")
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def put(**values: Any) -> Spoil:
    return lambda recipe, tmp: recipe.update(values)


def teachers(*specs: Any) -> Spoil:
    return lambda recipe, tmp: recipe.update(teachers=[*recipe["teachers"], *specs])


def student(**changes: Any) -> Spoil:
    return lambda recipe, tmp: recipe["student"].update(changes)


def twice(recipe: Recipe, tmp: Path) -> None:
    recipe["teachers"] = [{"model": path, "name": "team"} for path in recipe["teachers"]]


def damaged_student(damage: Callable[[Path], Any]) -> Spoil:
    def spoil(recipe: Recipe, tmp: Path) -> None:
        damage(tiny.encoder(tmp / "weak"))
        recipe["student"] = {"model": str(tmp / "weak"), "layers": 2}

    return spoil


CASES: dict[str, tuple[Spoil, tuple[str, ...]]] = {
    # Labels
    "anonymous labels": (teacher(("LABEL_0", "LABEL_1")), ("odd", "LABEL_0", "labels: {LABEL_0: bug")),
    "half anonymous labels": (teacher(("bug", "LABEL_1")), ("odd", "LABEL_1")),
    "one label": (teacher(("bug",)), ("odd", "two labels", "1 label")),
    "rename an unknown label": (
        teachers({"model": "billing", "labels": {"LABEL_0": "bug"}}), ("LABEL_0", "'refund'", "'billing-2'"),
    ),
    "rename to equal labels": (
        teachers({"model": "billing", "labels": {"refund": "charge"}}), ("different labels", "'charge'"),
    ),
    # Heads
    "regression head": (teacher(problem_type="regression"), ("odd", "single-label", "regression")),
    "multi-label head": (teacher(problem_type="multi_label_classification"), ("odd", "multi-label head", "method: multi_label")),
    "no classifier": (teacher(architectures=["BertForMaskedLM"]), ("odd", "sequence-classification", "BertForMaskedLM")),
    "bare encoder": (teacher(architectures=["BertModel"]), ("odd", "sequence-classification", "BertModel", "teach")),
    # Folders
    "missing folder": (teachers("teachers/nowhere"), ("teachers/nowhere", "No such folder", "hub id")),
    "hub id without network": (teachers("acme/tech-support"), ("acme/tech-support", "hub", "network")),
    "empty folder": (damaged(lambda f: [p.unlink() for p in f.iterdir()]), ("odd", "config.json")),
    "no weights": (damaged(lambda f: (f / "model.safetensors").unlink()), ("odd", "safetensors")),
    "pickled weights": (damaged(pickled), ("odd", "safetensors", "pickled", "save_pretrained")),
    "corrupt weights": (damaged(flipped), ("odd", "safetensors")),
    "weights cut short": (damaged(cut), ("odd", "safetensors")),
    "weights without head": (damaged(without_head), ("odd", "classifier")),
    "weights of another head": (damaged(with_another_head), ("odd", "each of the 5 labels", "2 by its config.json", "id2label")),
    "NaN weights": (damaged(not_a_number), ("odd", "finite", "classifier.weight", "damaged")),
    "no tokenizer": (damaged(without_tokenizer), ("odd", "tokenizer")),
    "broken config": (damaged(lambda f: (f / "config.json").write_text("{")), ("odd", "config.json")),
    "own code": (damaged(with_own_code), ("odd", "code", "trust_remote_code: true")),
    "same name twice": (twice, ("different `name`", "'team' twice")),
    # Student
    "no student": (lambda recipe, tmp: recipe.pop("student"), ("student", "muka", "none")),
    "missing student": (student(model="encoders/nowhere"), ("encoders/nowhere", "No such folder", "hub id")),
    "too few layers": (student(layers=5), ("at least 5 layers", "with 3", "layers: 3")),
    "no layers": (student(layers=0), ("student.layers", "greater than 0")),
    "unknown layers": (student(keep="middle"), ("student.keep", "'middle'", "'even'")),
    "pickled student": (damaged_student(pickled), ("weak", "safetensors", "pickled")),
    "student cut short": (damaged_student(cut), ("weak", "model.safetensors")),
    "student without tokenizer": (damaged_student(without_tokenizer), ("weak", "tokenizer")),
}  # fmt: skip


# What only shows when the model is loaded, after the folder was made: it is harmless there.
WHEN_LOADED = {
    "NaN weights",
    "weights without head",
    "weights of another head",
    "no tokenizer",
    "student without tokenizer",
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_refused_before_anything_is_written(
    name: str, recipe: Recipe, models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(models["billing"].parent)
    spoil, words = CASES[name]
    spoil(recipe, tmp_path)
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    collect(name, result)
    result.refused(*words)
    if name not in WHEN_LOADED:
        assert not (tmp_path / "run").exists()
    assert not (tmp_path / "run" / "student").exists()
    assert not list(tmp_path.glob("run/cache/teachers/odd/*/*.safetensors"))


@pytest.mark.parametrize("passes", [0, 4])
def test_a_teacher_whose_answers_are_not_finite_is_refused(
    passes: int, recipe: Recipe, tmp_path: Path, call: Call
) -> None:
    damaged(overflowing)(recipe, tmp_path)
    recipe["method"]["passes"] = passes
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    collect("answers that overflow", result)
    result.refused("finite", "'odd'", "NaN", "damaged")
    assert not (tmp_path / "run" / "student").exists()
    assert not list((tmp_path / "run" / "cache").glob("teachers/odd/*/*.safetensors"))


def still(folder: Path) -> str:
    """A teacher in which dropout never acts."""
    return str(tiny.classifier(folder, ("bug", "login"), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


@pytest.mark.slow
def test_a_teacher_without_dropout_is_refused_and_the_hint_helps(recipe: Recipe, tmp_path: Path, call: Call) -> None:
    """In the same output folder, and without --overwrite: nothing may lie there that the mended recipe refuses."""
    recipe["teachers"].append(still(tmp_path / "odd"))
    del recipe["evaluate"]
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    collect("zero dropout", result)
    result.refused("'odd'", "dropout", "dropout: 0.1", "passes: 0")
    recipe["method"]["dropout"] = 0.1
    mended = call("amalgamate", write_recipe(tmp_path, recipe))
    assert mended.code == 0, mended.err


@pytest.mark.slow
def test_a_damaged_teacher_can_be_replaced_in_the_same_output(recipe: Recipe, tmp_path: Path, call: Call) -> None:
    del recipe["evaluate"]
    folder = teacher()(recipe, tmp_path)
    shutil.copy(folder / "model.safetensors", tmp_path / "good.safetensors")
    cut(folder)
    assert call("amalgamate", write_recipe(tmp_path, recipe)).code == 2
    shutil.copy(tmp_path / "good.safetensors", folder / "model.safetensors")
    mended = call("amalgamate", write_recipe(tmp_path, recipe))
    assert mended.code == 0, mended.err


@pytest.mark.slow
def test_a_teacher_may_be_called_like_the_store_s_own_folder(recipe: Recipe, tmp_path: Path, call: Call) -> None:
    recipe["teachers"] += [{"model": str(tiny.classifier(tmp_path / "shards", ("bug", "login")))}]
    del recipe["evaluate"]
    path = write_recipe(tmp_path, recipe)
    assert [call("amalgamate", path).code for _ in range(2)] == [0, 0]


@pytest.mark.slow
def test_a_saturated_teacher_gets_a_warning(recipe: Recipe, tmp_path: Path, call: Call) -> None:
    folder = tiny.classifier(tmp_path / "odd", ("bug", "login"), logit_scale=3000.0)
    recipe["teachers"].append(str(folder))
    recipe["method"] = {"name": "ensemble"}
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    assert result.code == 0
    assert "warning: teacher 'odd'" in result.err
    assert "saturated" in result.err
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert any("saturated" in warning for warning in metrics["warnings"])
