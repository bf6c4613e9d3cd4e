"""Model folders that are odd, but can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
import torch
import transformers
from odd_architectures import TWO_LAYERS

from alloykit.errors import AlloyError
from alloykit.models.tokens import encode, pad
from alloykit.serving.predictor import Predictor


def labels_of(folder: Path) -> tuple[str, ...]:
    return Predictor.load(folder).labels


def test_a_byte_order_mark_in_the_json_files(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    for name in ("config.json", "tokenizer_config.json"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    assert labels_of(folder) == ("bug", "login")


def test_what_a_model_returns_is_not_chosen_by_its_config(tmp_path: Path) -> None:
    """transformers refuses to save a model again whose configuration asks for attentions, and gives tuples for `return_dict: false`."""
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    config = json.loads((folder / "config.json").read_text())
    wanted = Predictor.load(folder).probabilities(["card lost"])
    asked = {"return_dict": False, "output_hidden_states": True, "output_attentions": True}
    (folder / "config.json").write_text(json.dumps(config | asked))
    student = Predictor.load(folder)
    assert student.probabilities(["card lost"]).equal(wanted)
    student.model.save_pretrained(tmp_path / "again")
    assert not asked.keys() & json.loads((tmp_path / "again" / "config.json").read_text()).keys()


def test_transformers_reads_long_texts_as_alloykit_does_with_a_saved_bigbird(tmp_path: Path) -> None:
    """It changes to full attention at the first short text, and not back. What it saves must not say otherwise."""
    sizes = TWO_LAYERS | {"block_size": 1, "max_position_embeddings": 80}
    tiny.tokenizer().save_pretrained(tmp_path / "model")
    config = transformers.BigBirdConfig(**sizes, initializer_range=1.0, id2label={0: "bug", 1: "login"})
    transformers.BigBirdForSequenceClassification(config).save_pretrained(tmp_path / "model")
    student, text = Predictor.load(tmp_path / "model", device="cpu"), " ".join(tiny.texts(8))
    wanted = student.logits([text])
    student.logits(["card"])
    torch.testing.assert_close(student.logits([text]), wanted, rtol=1e-4, atol=1e-3)
    student.model.save_pretrained(tmp_path / "again")
    again = transformers.BigBirdForSequenceClassification.from_pretrained(tmp_path / "again").eval()
    with torch.no_grad():
        found = again(**pad(student.tokenizer, encode(student.tokenizer, [text], None, 64))).logits
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-3)


def test_spaces_around_labels(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    name_labels(folder, " bug ", "login\n")
    assert labels_of(folder) == ("bug", "login")
    name_labels(folder, "a", "a ")
    with pytest.raises(AlloyError, match="got 'a' more than once"):
        labels_of(folder)


def test_more_or_fewer_names_than_the_head_has_labels(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login", "refund"), "bert")
    for names in (("bug", "login"), ("bug", "login", "refund", "other")):
        name_labels(folder, *names)
        with pytest.raises(AlloyError, match=f"each of the 3 labels that the classification head.*got {len(names)} by"):
            labels_of(folder)


def name_labels(folder: Path, *labels: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(config))


def test_a_tokenizer_that_leaves_no_room_for_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    labels_of(folder)
    assert "warning" not in capsys.readouterr().err
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 2}))
    labels_of(folder)
    assert "reads only 0 tokens of each text: `model_max_length`" in capsys.readouterr().err
