"""A classifier of Google Snippets, and its graphs in every number format."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

import alloykit
from alloykit.data import TextsOptions, load_texts
from alloykit.exporting.float16_graph import float16_graph
from alloykit.exporting.float_graph import float_graph
from alloykit.exporting.int8_graphs import int8_graphs
from alloykit.finished_runs.export_sample import CALIBRATED
from alloykit.serving.predictor import Predictor
from benchmarks.harness.sets import SNIPPETS

TRAIN, TEST = 1500, 1000  # texts
MODEL = {"model": "bundled:minilm", "layers": 3, "keep": "even"}
TRAINING = {"epochs": 3, "learning_rate": 3e-4, "batch_size": 32, "max_length": 48, "select": "last"}
FORMATS = ("float32", "int8", "dynamic int8", "float16")


@dataclass(frozen=True)
class Subject:
    """The classifier in PyTorch, its graphs by name, test texts and their labels [n] int64."""

    student: Predictor
    graphs: dict[str, bytes]
    texts: list[str]
    labels: Tensor
    in_float32: int
    """Tensors whose products the int8 graph leaves in float32."""


def subject(data: Path, work: Path) -> Subject:
    """Train the classifier on labelled texts, unless it is there, and export it."""
    train, test = (_rows(data, part, size) for part, size in (("train", TRAIN + CALIBRATED), ("test", TEST)))
    folder = alloykit.teach(MODEL, train[:TRAIN], training=TRAINING, output=work / "classifier")
    student = Predictor.load(folder, device="cpu")
    exact = float_graph(student)
    calibration = [row["text"] for row in train[TRAIN:]]
    content, kept = next(int8_graphs(exact, student, calibration, None))
    places = {label: i for i, label in enumerate(student.labels)}
    return Subject(
        student,
        {"float32": exact, "int8": content, "dynamic int8": _dynamic(exact), "float16": float16_graph(exact)},
        [row["text"] for row in test],
        torch.tensor([places[row["label"]] for row in test]),
        kept,
    )


def _rows(data: Path, part: str, size: int) -> list[dict[str, str]]:
    """So many texts and their labels, in random order."""
    path = str(data / SNIPPETS.name / f"{part}.parquet")
    table = load_texts(
        TextsOptions(path=path, label="label", label_names=list(SNIPPETS.labels)), want_labels=True
    ).table
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0)).tolist()[:size]
    texts, labels = list(table["text"]), list(table["label"])
    return [{"text": texts[i], "label": labels[i]} for i in order]


def _dynamic(graph: bytes) -> bytes:
    """onnxruntime's dynamic quantisation with its defaults: 8-bit weights, the range of each input taken from its batch."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "a.onnx", Path(folder) / "b.onnx"
        before.write_bytes(graph)
        quantize_dynamic(before, after, weight_type=QuantType.QInt8)
        return after.read_bytes()
