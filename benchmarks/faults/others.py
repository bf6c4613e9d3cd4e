"""Teachers of other kinds for the cases: stored answers, an ONNX graph, a scikit-learn pipeline, an NLI model, and labelled texts.

Made once for a state of the code, beside the stock; only the cases that need them make them.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable, Sequence
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


def put_others(stock: Stock, folder: Path, *own: str, only: Sequence[str] = ()) -> None:
    """Put them into the folder of a case: links, and copies of those in `own`. only: these, and not all."""
    for name in only or MAKERS:
        path = _made(stock, name)
        if name in own:
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / name)
        else:
            os.symlink(path, folder / name)


def _made(stock: Stock, name: str) -> Path:
    """One of them, made if it is not there yet."""
    place = stock.folder / "others" / name
    with stock.lock:
        done = place.parent / f"{name}.made"
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(exist_ok=True)
            MAKERS[name](stock.folder / "inputs", place)
            write_atomic(done, "")
    return place


def _texts(inputs: Path) -> list[str]:
    with (inputs / "texts.csv").open(newline="", encoding="utf-8") as file:
        return [row["text"] for row in csv.DictReader(file)]


def _nli(inputs: Path, place: Path) -> None:
    from tests import tiny

    tiny.classifier(place, ["contradiction", "neutral", "entailment"], seed=6)


def _graph(inputs: Path, place: Path) -> None:
    from alloykit.exporting.float_graph import float_graph
    from alloykit.serving.predictor import Predictor

    (place / "onnx").mkdir(parents=True)
    classifier = Predictor.load(inputs / "delivery", device="cpu")
    (place / "onnx" / "model.onnx").write_bytes(float_graph(classifier))
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(inputs / "delivery" / name, place)


def _pipeline(inputs: Path, place: Path) -> None:
    import skops.io
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = _texts(inputs)
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    skops.io.dump(pipeline.fit(texts, [DELIVERY[i % 2] for i in range(len(texts))]), place)


def _answers(inputs: Path, place: Path) -> None:
    texts = _texts(inputs)
    shares = [round(0.1 + 0.8 * (i % 7) / 6, 3) for i in range(len(texts))]
    rows = [[text, str(p), str(round(1 - p, 3))] for text, p in zip(texts, shares, strict=True)]
    write_csv(place, [["text", *DELIVERY], *rows[: len(rows) * 3 // 4]])


def _labelled(inputs: Path, place: Path) -> None:
    labels = [*BILLING, *DELIVERY]
    write_csv(place, [["text", "label"], *([t, labels[i % 5]] for i, t in enumerate(_texts(inputs)[:15]))])


MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "nli": _nli, "graph": _graph, "pipeline.skops": _pipeline, "answers.csv": _answers, "labelled.csv": _labelled,
}  # fmt: skip
