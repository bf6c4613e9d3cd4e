"""OhSumed's abstracts, four to five times as long as what the models read: head, tail, head_tail and mean, of teachers and students."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import alloykit
from alloykit.data import TextsOptions, load_texts
from alloykit.models.long_texts import LongTexts
from alloykit.models.tokens import encode_untruncated
from alloykit.serving.predictor import Predictor
from benchmarks.harness.sets import OHSUMED
from benchmarks.speed.measure import Measurement

LABELS, PER_LABEL, TEST = 8, 80, 50  # the most frequent labels; texts of each to train on and to test on
LENGTH, LONGER = 64, (128, 256)  # tokens that the models were trained to read, and more
TRAINING = {"epochs": 6, "learning_rate": 5e-4, "batch_size": 16, "max_length": LENGTH, "select": "last"}
MODEL = {"model": "bundled:minilm", "layers": 3}
SETTINGS: tuple[LongTexts, ...] = ("head", "tail", "head_tail", "mean")
Example = dict[str, str]


def run(data: Path, work: Path) -> dict[str, Any]:
    train, test = (_texts(data, part, size) for part, size in (("train", PER_LABEL), ("test", TEST)))
    labels = list(dict.fromkeys(row["label"] for row in train))
    groups = {"one": labels[::2], "two": labels[1::2]}
    teachers: list[Any] = []
    for name, mine in groups.items():
        own = [row for row in train if row["label"] in mine]
        teachers.append(alloykit.teach(MODEL, own, training=TRAINING, output=work / name))
    tokens = [len(ids) for ids in encode_untruncated(Predictor.load(teachers[0]).tokenizer, [r["text"] for r in test])]
    return {
        "settings": {"labels": LABELS, "train": len(train), "test": len(test), "length": LENGTH, "training": TRAINING},
        "tokens": round(sum(tokens) / len(tokens)),
        "longer": round(sum(n > LENGTH - 2 for n in tokens) / len(tokens), 4),
        "teachers": {
            name: _teacher(folder, [row for row in test if row["label"] in groups[name]])
            for name, folder in zip(groups, teachers, strict=True)
        },
        "students": {how: _student(how, teachers, train, test, work) for how in SETTINGS},
    }


def _texts(data: Path, part: str, size: int) -> list[Example]:
    """The first texts of each of the most frequent labels of the training set, the labels in this order, in turns."""
    counts = Counter(_table(data, "train")["label"])
    table = _table(data, part)
    frequent = [label for label, _ in counts.most_common(LABELS)]
    rows: dict[str, list[str]] = {label: [] for label in frequent}
    for text, label in zip(table["text"], table["label"], strict=True):
        if label in rows and len(rows[label]) < size:
            rows[label].append(text)
    return [{"text": rows[label][n], "label": label} for n in range(size) for label in frequent if n < len(rows[label])]


def _table(data: Path, part: str) -> Any:
    path = str(data / OHSUMED.name / f"{part}.parquet")
    return load_texts(TextsOptions(path=path, label="label", label_names=list(OHSUMED.labels)), want_labels=True).table


def _teacher(folder: Path, test: list[Example]) -> dict[str, float]:
    return {how: _accuracy(folder, test, how) for how in SETTINGS} | {
        f"head, {length} tokens": _accuracy(folder, test, "head", length) for length in LONGER
    }


def _student(
    how: LongTexts, teachers: list[Any], train: list[Example], test: list[Example], work: Path
) -> dict[str, float]:
    """Accuracy of a student and its teachers that read long texts in the same way; with mean also of the student that reads the head only."""
    run = alloykit.amalgamate(
        teachers, [row["text"] for row in train], MODEL, "alloy",
        training=TRAINING | {"long_texts": how}, inference={"long_texts": how}, evaluate=test, output=work / f"run-{how}",
    )  # fmt: skip
    scores = run.metrics["evaluation"]["scores"]
    found = {name: scores[name]["accuracy"] for name in ("ensemble", "routing", "student")}
    return found | ({"student, head": _accuracy(run.student, test, "head")} if how == "mean" else {})


def _accuracy(folder: Path, test: list[Example], how: LongTexts, length: int = LENGTH) -> float:
    classifier = Predictor.load(folder)
    classifier.long_texts, classifier.max_length = how, length
    said = classifier.probabilities([row["text"] for row in test]).argmax(-1).tolist()
    right = [classifier.labels[i] == row["label"] for i, row in zip(said, test, strict=True)]
    return round(sum(right) / len(right), 4)


TABLE = Measurement("answers", "long texts: what is read, and accuracy", run, "long_texts")
