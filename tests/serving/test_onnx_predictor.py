"""`predict --onnx` and `serve --onnx` read a graph that somebody else may have made."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import onnx
import pytest
import tiny
from onnx import TensorProto, helper

from alloykit.errors import AlloyError
from alloykit.models.checksums import write_checksums
from alloykit.serving.onnx_predictor import OnnxPredictor


def graph(folder: Path, *, domain: str = "", location: str = "") -> None:
    weights = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    if location:
        weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        weights.external_data.add(key="location", value=location)
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["ids"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["mean", "w"], ["logits"], domain=domain),
    ]
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "l"])
    found = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 2])
    model = helper.make_model(
        helper.make_graph(nodes, "g", [given], [found], [weights]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    (folder / "onnx").mkdir(exist_ok=True)
    onnx.save(model, folder / "onnx" / "model.onnx")


def test_custom_operators_and_foreign_files_are_refused(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "student", ["a", "b"])
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    graph(folder)
    assert OnnxPredictor.load(folder).logits(["a text"]).shape == (1, 2)
    graph(folder, location="../../secret.bin")
    with pytest.raises(AlloyError, match="inside its folder"):
        OnnxPredictor.load(folder)
    graph(folder, domain="evil")
    with pytest.raises(AlloyError, match="custom operators"):
        OnnxPredictor.load(folder)


def test_a_changed_graph_is_refused(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "student", ["a", "b"])
    graph(folder)
    path = folder / "onnx" / "model.onnx"
    write_checksums(folder, [path])
    OnnxPredictor.load(folder)
    content = path.read_bytes()
    assert content.count(struct.pack("<2f", 1, 2)) == 1
    path.write_bytes(content.replace(struct.pack("<2f", 1, 2), struct.pack("<2f", 1, 3)))
    with pytest.raises(AlloyError, match="another content than SHA256SUMS says"):
        OnnxPredictor.load(folder)


def test_labels_that_are_not_those_of_the_graph_are_refused(tmp_path: Path) -> None:
    """As if config.json and graph were of two exports. A label too few would give each text a wrong probability."""
    folder = tiny.classifier(tmp_path / "student", ["a", "b"])
    graph(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for names, words in (
        (["a", "b", "c"], "for each output of its graph; got 3 labels and 2 `logits`"),
        (["a"], "got 1 labels and 2 `logits`"),
        (None, "got 0 labels and 2 `logits`"),
        (["a", "a"], "different labels .*; got 'a' more than once"),
    ):
        changed = {key: value for key, value in config.items() if key not in ("id2label", "label2id")}
        path.write_text(json.dumps(changed | ({} if names is None else {"id2label": dict(enumerate(names))})))
        with pytest.raises(AlloyError, match=words):
            OnnxPredictor.load(folder)
    path.write_text(json.dumps(config))
    model = onnx.load(folder / "onnx" / "model.onnx")
    model.graph.node[-1].output[0] = model.graph.output[0].name = "scores"
    onnx.save(model, folder / "onnx" / "model.onnx")
    with pytest.raises(AlloyError, match="got 2 labels and no `logits`"):
        OnnxPredictor.load(folder)
