"""Model folders that are odd, but can be read."""

from __future__ import annotations

import json
from pathlib import Path

import tiny

from alloykit.serving.predictor import Predictor


def labels_of(folder: Path) -> tuple[str, ...]:
    return Predictor.load(folder).labels


def test_a_byte_order_mark_in_the_json_files(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    for name in ("config.json", "tokenizer_config.json"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    assert labels_of(folder) == ("bug", "login")


def test_spaces_around_labels(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", ("bug", "login"), "bert")
    config = json.loads((folder / "config.json").read_text())
    for labels, found in (((" bug ", "login\n"), ("bug", "login")), (("a", "a "), ("a", "a "))):
        config |= {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
        (folder / "config.json").write_text(json.dumps(config))
        assert labels_of(folder) == found
