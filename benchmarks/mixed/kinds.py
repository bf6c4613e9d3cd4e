"""Google Snippets, four teachers of two labels each: all of transformers, and one of each of four kinds with the same texts to learn from.

The mixed run is killed in the middle of the service's answers, and started again. The service counts how often it answers each text.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import skops.io
import yaml
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import alloykit
from alloykit.progress import log_line
from alloykit.serving.predictor import Predictor
from benchmarks.harness.data import read, write
from benchmarks.harness.sets import SNIPPETS
from benchmarks.mixed.service import Service, running
from benchmarks.speed.measure import Measurement

TAUGHT, POOL, TEST, TOKENS = 1500, 1500, 600, 24
NO_ANSWER = 0.1  # share of the texts for which the stored answers have none
KILLED_AT = 0.5  # share of the service's answers after which the run is killed
MODEL = {"model": "bundled:minilm", "layers": 3}
TEACHING = {
    "epochs": 8,
    "learning_rate": 2e-4,
    "batch_size": 32,
    "max_length": TOKENS,
    "select": "last",
    "held_out": 0.0,
}
KINDS = ("a model", "scikit-learn", "stored answers", "a service")
Example = dict[str, str]


def run(data: Path, work: Path) -> dict[str, Any]:
    work.mkdir(parents=True, exist_ok=True)
    taught, pool, test = _texts(data)
    write({"text": [row["text"] for row in pool]}, work / "pool.parquet")
    write({"text": [r["text"] for r in test], "label": [r["label"] for r in test]}, work / "test.parquet")
    groups = SNIPPETS.split(4)
    models = []
    for n, labels in enumerate(groups):
        own = [row for row in taught if row["label"] in labels]
        models.append(Path(str(alloykit.teach(MODEL, own, training=TEACHING, output=work / f"teacher{n + 1}"))))
    same = _scores(_amalgamated(work, "same", [str(path) for path in models]))
    service = Service(models[3])
    with running(service) as url:
        teachers = [
            str(models[0]),
            {"sklearn": str(_pipeline([r for r in taught if r["label"] in groups[1]], work)), "name": "sklearn"},
            {"answers": str(_answers(models[2], pool + test, work)), "top": "logprobs", "name": "stored"},
            {"url": url, "format": "tei", "labels": list(groups[3]), "name": "service", "parallel": 4, "batch": 16},
        ]
        killed = _killed(work, teachers, service, len(pool))
        mixed = _scores(_amalgamated(work, "mixed", teachers))
        repeated = sum(n - 1 for n in service.asked.values())
    return {
        "settings": {"taught": TAUGHT, "pool": len(pool), "test": len(test), "no_answer": NO_ANSWER, "tokens": TOKENS},
        "groups": [list(labels) for labels in groups],
        "same": same,
        "mixed": mixed,
        "service": {"texts": len(service.asked), "before_the_kill": killed, "answered_again": repeated},
    }


def _texts(data: Path) -> tuple[list[Example], list[Example], list[Example]]:
    """Texts for the teachers, of the pool, and of the test; no text is in two of them."""
    table = read(data / SNIPPETS.name / "train.parquet")
    rows = random.Random("mixed").sample(range(len(table)), TAUGHT + POOL)
    tested = read(data / SNIPPETS.name / "test.parquet")
    of_test = random.Random("mixed test").sample(range(len(tested)), TEST)

    def examples(found: Any, at: list[int]) -> list[Example]:
        return [{"text": found[i]["text"], "label": SNIPPETS.labels[found[i]["label"]]} for i in at]

    return examples(table, rows[:TAUGHT]), examples(table, rows[TAUGHT:]), examples(tested, of_test)


def _pipeline(own: list[Example], work: Path) -> Path:
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1000))
    pipeline.fit([row["text"] for row in own], [row["label"] for row in own])
    skops.io.dump(pipeline, work / "teacher2.skops")
    return work / "teacher2.skops"


def _answers(model: Path, texts: list[Example], work: Path) -> Path:
    """What a language model would leave: the log-probabilities of the labels, and no answer to some texts."""
    classifier, chance = Predictor.load(model), random.Random("no answer")
    found = classifier.probabilities([row["text"] for row in texts], calibrated=False).log().tolist()
    lines = [
        json.dumps({"text": row["text"], "logprobs": dict(zip(classifier.labels, logs, strict=True))})
        for row, logs in zip(texts, found, strict=True)
        if chance.random() >= NO_ANSWER
    ]
    (work / "answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return work / "answers.jsonl"


def _recipe(work: Path, name: str, teachers: list[Any]) -> Path:
    recipe = {
        "teachers": teachers,
        "texts": str(work / "pool.parquet"),
        "student": MODEL,
        "training": {"max_length": TOKENS},
        "evaluate": {"data": {"path": str(work / "test.parquet"), "label": "label"}},
        "output": str(work / f"run-{name}"),
    }
    path = work / f"{name}.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path


def _command(work: Path, name: str, teachers: list[Any]) -> list[str]:
    return [sys.executable, "-m", "alloykit", "amalgamate", str(_recipe(work, name, teachers))]


def _amalgamated(work: Path, name: str, teachers: list[Any]) -> alloykit.Run:
    subprocess.run(_command(work, name, teachers), check=True)
    return alloykit.Run(work / f"run-{name}")


def _killed(work: Path, teachers: list[Any], service: Service, texts: int) -> int:
    """Start the mixed run and kill it in the middle of the service's answers. Returns the number of answers until then."""
    service.stop_after = int(KILLED_AT * texts)
    process = subprocess.Popen(_command(work, "mixed", teachers))
    while not service.reached.wait(0.05) and process.poll() is None:
        pass
    process.kill()
    process.wait()
    answered = sum(service.asked.values())
    log_line(f"killed after {answered} answers of the service")
    service.stop_after = None
    return answered


def _scores(run: alloykit.Run) -> dict[str, Any]:
    assert run.metrics is not None
    return {name: score["accuracy"] for name, score in run.metrics["evaluation"]["scores"].items()}


TABLE = Measurement(
    "kinds", "teachers of four kinds beside teachers of one kind; a run killed while a service answers", run, "mixed"
)
