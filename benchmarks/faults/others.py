"""Teachers of other kinds for the cases: stored answers, an ONNX graph, a scikit-learn pipeline, an NLI model, and labelled texts.

Made once for a state of the code, beside the stock; only the cases that need them make them.
"""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from benchmarks.faults.stock import BILLING, DELIVERY, MELT, Stock, write_csv

STORED: dict[str, Any] = {"answers": "answers.csv", "name": "stored"}
GRAPH: dict[str, Any] = {"onnx": "graph", "name": "graph"}
PIPELINE: dict[str, Any] = {"sklearn": "pipeline.skops", "name": "pipeline"}
ZERO_SHOT: dict[str, Any] = {"zero_shot": "nli", "labels": list(DELIVERY), "name": "nli"}
SERVICE: dict[str, Any] = {
    "url": "http://127.0.0.1:9/predict",
    "name": "service",
    "format": "json",
    "labels": list(DELIVERY),
    "request": {"inputs": "{texts}"},
    "answer": "predictions[*]",
    "batch": 8,
    "parallel": 2,
    "retries": 1,
    "backoff": 0.01,
    "timeout": 5,
}
LEARN_FROM: dict[str, Any] = {"data": {"path": "labelled.csv", "label": "label"}}

RECIPES: dict[str, dict[str, Any]] = {
    "stored answers": {"teachers": ["billing", STORED]},
    "a graph": {"teachers": ["billing", GRAPH]},
    "a pipeline": {"teachers": ["billing", PIPELINE]},
    "zero shot": {"teachers": ["billing", ZERO_SHOT]},
    "a service": {"teachers": ["billing", SERVICE]},
    "all kinds": {
        "teachers": ["billing", STORED, GRAPH, PIPELINE, ZERO_SHOT],
        "labelled": LEARN_FROM,
        "labels": {"aliases": {"track": "where"}},
        "inference": {"tokens_per_batch": 512, "long_texts": "head_tail"},
    },
    "labelled": {"teachers": ["billing", "delivery"], "labelled": LEARN_FROM},
}


def recipe(name: str, method: Any = "alloy") -> dict[str, Any]:
    """A recipe with teachers of other kinds."""
    return MELT | {"method": method} | RECIPES[name]


def others(stock: Stock) -> Path:
    """The folder with the inputs of this module."""
    folder = stock.folder / "others"
    with stock.lock:
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(stock.folder / "inputs", folder)
    return folder


def put_others(stock: Stock, folder: Path, *own: str) -> None:
    """Put them into the folder of a case: links, and copies of those in `own`."""
    for path in sorted(others(stock).iterdir()):
        if path.name in own:
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)
        elif path.name != "made":
            os.symlink(path, folder / path.name)


def _make(inputs: Path, folder: Path) -> None:
    import skops.io
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from alloykit.exporting.float_graph import float_graph
    from alloykit.serving.predictor import Predictor
    from tests import tiny

    folder.mkdir(parents=True)
    with (inputs / "texts.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    tiny.classifier(folder / "nli", ["contradiction", "neutral", "entailment"], seed=6)
    (folder / "graph" / "onnx").mkdir(parents=True)
    classifier = Predictor.load(inputs / "delivery", device="cpu")
    (folder / "graph" / "onnx" / "model.onnx").write_bytes(float_graph(classifier))
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(inputs / "delivery" / name, folder / "graph")
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    skops.io.dump(pipeline.fit(texts, [DELIVERY[i % 2] for i in range(len(texts))]), folder / "pipeline.skops")
    shares = [round(0.1 + 0.8 * (i % 7) / 6, 3) for i in range(len(texts))]
    rows = [[text, str(p), str(round(1 - p, 3))] for text, p in zip(texts, shares, strict=True)]
    write_csv(folder / "answers.csv", [["text", *DELIVERY], *rows[: len(rows) * 3 // 4]])
    labels = [*BILLING, *DELIVERY]
    write_csv(folder / "labelled.csv", [["text", "label"], *([t, labels[i % 5]] for i, t in enumerate(texts[:15]))])
    write_atomic(folder / "made", "")
