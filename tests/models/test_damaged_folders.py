"""Damage of every kind to a model folder ends in one AlloyError, or in a model that works."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import tiny
import torch
from hostile import LABELS, edit

import alloykit
from alloykit import AlloyError
from alloykit.serving.predictor import Predictor

TEXTS = ["refund the card", "why is my parcel late [MASK]"]
Damage = Callable[[Path], Any]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.classifier(tmp_path_factory.mktemp("clean") / "model", LABELS)


@pytest.fixture
def folder(clean: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clean, tmp_path / "model"))


def config(**changes: Any) -> Damage:
    return lambda folder: edit(folder, **changes)


def tokenizer(**changes: Any) -> Damage:
    return lambda folder: edit(folder, "tokenizer_config.json", **changes)


def both(one: Damage, other: Damage) -> Damage:
    return lambda folder: (one(folder), other(folder))


def instead(name: str, content: bytes | None) -> Damage:
    """Another content; None: a folder of this name."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir() if content is None else (folder / name).write_bytes(content)

    return damage


def dangling(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("nowhere")


def shifted(folder: Path) -> None:
    """A token whose number the model does not know."""
    path = folder / "tokenizer.json"
    found = json.loads(path.read_text())
    found["model"]["vocab"]["refund"] = 99_999
    path.write_text(json.dumps(found))


def narrower(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["bert.embeddings.word_embeddings.weight"] = torch.zeros(61, 16)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a word for a size": (config(type_vocab_size="x"), "type_vocab_size"),
    "a list of labels": (config(id2label=["a", "b"]), "id2label"),
    "labels with a gap": (config(id2label={"0": "a", "2": "b"}), "a name for each number from 0 on"),
    "half a letter as label": (config(id2label={"0": "\ud800", "1": "b"}), "id2label"),
    "nested labels": (config(id2label={"0": ["a"], "1": "b"}), "id2label"),
    "settings per layer": (config(per_layer_config={"0": 5}), "config.json"),
    "no heads": (config(num_attention_heads=0), "config.json"),
    "heads that do not divide": (config(num_attention_heads=5), "config.json"),
    "negative width": (config(hidden_size=-1), "config.json"),
    "no layers by name": (config(num_hidden_layers="three"), "num_hidden_layers"),
    "no layer": (config(num_hidden_layers=0), "1 to 1,000 layers"),
    "fewer layers than weights": (config(num_hidden_layers=1), "encoder.layer.1."),
    "more layers than weights": (config(num_hidden_layers=5), "encoder.layer.3."),
    "unknown activation": (config(hidden_act="nothing"), "nothing"),
    "architectures": (config(architectures=5), "architectures"),
    "an unknown type": (config(model_type="nothing"), "'nothing'"),
    "a type that is a list": (config(model_type=["bert"]), "bert"),
    "a temperature of nothing": (config(alloykit_temperature=0), "alloykit_temperature"),
    "half a letter": (config(anything="\ud800"), "valid text"),
    "a pooled head that is none": (config(alloykit_head={"width": 3}), "head.safetensors"),
    "config: a list": (instead("config.json", b"[1]"), "JSON object in config.json"),
    "config: not UTF-8": (instead("config.json", b"\xff\xfe{}"), "config.json"),
    "config: brackets": (instead("config.json", b"[" * 100_000), "config.json"),
    "config: a folder": (instead("config.json", None), "config.json"),
    "tokenizer: brackets": (instead("tokenizer.json", b"[" * 3000), "tokenizer"),
    "tokenizer: empty": (instead("tokenizer.json", b""), "tokenizer"),
    "tokenizer: another object": (instead("tokenizer.json", b"{}"), "tokenizer"),
    "tokenizer: a folder": (instead("tokenizer.json", None), "tokenizer.json"),
    "tokenizer settings: a list": (instead("tokenizer_config.json", b"[]"), "tokenizer_config.json"),
    "half of a surrogate pair": (tokenizer(model_input_names=["input_ids", "\ud800"]), "half of a surrogate pair"),
    "a token that is true": (tokenizer(pad_token=True), "tokenizer"),
    "no token to pad with": (both(tokenizer(pad_token=None), config(pad_token_id=None)), "pad"),
    "tokens that are numbers": (tokenizer(added_tokens_decoder={"x": 5}), "tokenizer"),
    "tokens with other keys": (tokenizer(cls_token={"content": "[CLS]", "more": 1}), "tokens with the keys"),
    "added tokens with other keys": (tokenizer(added_tokens_decoder={"0": {"more": 1}}), "tokens with the keys"),
    "a token that the model lacks": (shifted, "99,999"),
    "weights: a folder": (instead("model.safetensors", None), "model.safetensors"),
    "weights: a dangling link": (dangling, "a broken link"),
    "weights: empty": (instead("model.safetensors", b""), "model.safetensors"),
    "weights of another width": (narrower, "word_embeddings"),
    "more words than weights": (config(vocab_size=1000), "word_embeddings"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    damage, words = DAMAGES[name]
    damage(folder)
    with pytest.raises(AlloyError) as caught:
        Predictor.load(folder).probabilities(TEXTS)
    assert words in str(caught.value)
    assert "alloykit-model-" not in str(caught.value), "the temporary copy is nobody's business"
    assert len(str(caught.value)) < 1500
    assert capfd.readouterr().out == "", "standard output is for answers"


VALUES: list[Any] = [
    None,
    True,
    -1,
    3,
    2**31,
    10**30,
    -5.5,
    1e308,
    float("nan"),
    "",
    "x",
    "\ud800",
    [],
    ["a"],
    {},
    {"a": 1},
]


def mutated(rng: random.Random, folder: Path) -> None:
    """One value of one JSON file replaced or removed, or bytes of a file cut or overwritten."""
    file = folder / rng.choice(
        ["config.json", "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]
    )
    if file.suffix == ".json" and rng.random() < 0.8:
        found = json.loads(file.read_text())
        inner, key = found, rng.choice(list(found))
        while isinstance(inner[key], dict) and inner[key] and rng.random() < 0.7:
            inner = inner[key]
            key = rng.choice(list(inner))
        if rng.random() < 0.2:
            del inner[key]
        else:
            inner[key] = rng.choice(VALUES)
        file.write_text(json.dumps(found))
        return
    data = bytearray(file.read_bytes())
    if rng.random() < 0.5:
        data = data[: rng.randrange(len(data))]
    else:
        for _ in range(5):
            data[rng.randrange(min(len(data), 3000))] = rng.randrange(256)
    file.write_bytes(bytes(data))


@pytest.mark.slow
def test_random_damage_never_ends_in_anything_else(clean: Path, tmp_path: Path) -> None:
    """Sixty damaged folders, always the same; hundreds were tried with other seeds when this was written."""
    outcomes = set()
    for seed in range(60):
        folder = Path(shutil.copytree(clean, tmp_path / str(seed)))
        mutated(random.Random(seed), folder)
        try:
            found = Predictor.load(folder).probabilities(TEXTS)
        except AlloyError:
            outcomes.add("refused")
        else:
            assert found.shape[0] == 2
            outcomes.add("answered")
    assert outcomes == {"refused", "answered"}


def test_a_folder_of_checkpoints(clean: Path, tmp_path: Path) -> None:
    for step in (1000, 500):
        shutil.copytree(clean, tmp_path / "out" / f"checkpoint-{step}")
    with pytest.raises(AlloyError, match="in these folders of it: 'checkpoint-500', 'checkpoint-1000'. Name one"):
        alloykit.amalgamate(
            teachers=[str(tmp_path / "out")] * 2, texts=TEXTS, student={"model": str(clean)}, output=tmp_path / "r"
        )


def test_a_full_disk_for_temporary_files_is_not_the_models_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for writing in ("write_text", "symlink_to"):
        with monkeypatch.context() as patch, pytest.raises(AlloyError, match="room to write a copy of .* TMPDIR"):
            patch.setattr(Path, writing, full)
            Predictor.load(folder)
