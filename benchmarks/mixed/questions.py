"""One student for two questions, the topic of AG News and the sentiment of SST-2, beside two students of one question each.

The pool has the texts of both sets. So each question also has texts in it for which it has no good answer. The two teachers of the topic know two of its four labels each.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from statistics import mean
from typing import Any

import alloykit
from alloykit.progress import log_line
from alloykit.serving.predictor import Predictor
from benchmarks.harness.data import read, write
from benchmarks.harness.data_set import DataSet
from benchmarks.harness.sets import AG_NEWS, SETS
from benchmarks.harness.trimmed import trimmed
from benchmarks.mixed.kinds import TEACHING, Example
from benchmarks.speed.measure import Measurement

SETS_OF = {"topic": AG_NEWS, "sentiment": SETS["sst2"]}
TAUGHT, POOL, TEST, TOKENS = 1500, 1000, 600, 24  # texts of each question
SEEDS = (0,)
TEACHERS = {"topic": 2, "sentiment": 1}  # the labels of a question are cut among its teachers
LAYERS = 3  # of MiniLM, in teachers and students
REPEATS = 3  # of reading the test texts; the fastest counts


def run(data: Path, work: Path) -> dict[str, Any]:
    work = work / "questions"
    work.mkdir(parents=True, exist_ok=True)
    teachers, pool, test = dict[str, list[str]](), list[str](), list[dict[str, str | None]]()
    drawn = {question: _texts(data, question, dataset) for question, dataset in SETS_OF.items()}
    known = [row["text"] for parts in drawn.values() for part in parts for row in part]
    model = {"model": str(trimmed(lambda: known, work / "encoder", TOKENS)), "layers": LAYERS}
    for question, dataset in SETS_OF.items():
        taught, own, tested = drawn[question]
        parts = [[row for row in taught if row["label"] in labels] for labels in dataset.split(TEACHERS[question])]
        teachers[question] = [
            str(alloykit.teach(model, part, training=TEACHING, output=work / f"teacher-{question}{n}"))
            for n, part in enumerate(parts, 1)
        ]
        pool += [row["text"] for row in own]
        test += [dict.fromkeys(SETS_OF) | {"text": row["text"], question: row["label"]} for row in tested]
    random.Random("questions").shuffle(pool)
    write({"text": list(pool)}, work / "pool.parquet")
    write({key: [row[key] for row in test] for key in ("text", *SETS_OF)}, work / "test.parquet")
    found = [_of_seed(work, model, teachers, [str(row["text"]) for row in test], seed) for seed in SEEDS]
    return {
        "settings": {"taught": TAUGHT, "pool": POOL, "test": TEST, "tokens": TOKENS, "seeds": list(SEEDS)},
        "teachers": {question: len(given) for question, given in teachers.items()},
        "seeds": found,
        "mean": {way: {k: mean(s[way][k] for s in found) for k in found[0][way]} for way in ("joint", "separate")},
    }


def _of_seed(
    work: Path, model: dict[str, Any], teachers: dict[str, list[str]], test: list[str], seed: int
) -> dict[str, dict[str, float]]:
    """Accuracy by question, seconds of the training and of reading the test texts, bytes of the weights; of the two students together."""
    common: dict[str, Any] = {
        "texts": work / "pool.parquet", "student": model, "training": {"max_length": TOKENS, "seed": seed}, "cache": work / "cache",
    }  # fmt: skip
    asked = {name: {"teachers": given} | _method(given) for name, given in teachers.items()}
    log_line(f"seed {seed}: one student for both questions")
    joint = alloykit.amalgamate_questions(
        asked, evaluate=work / "test.parquet", output=work / f"joint-seed{seed}", **common
    )
    joined, separate = {name: part.metrics for name, part in joint.questions.items()}, dict[str, alloykit.Run]()
    for name, block in asked.items():
        log_line(f"seed {seed}: a student for {name} alone")
        test_file = {"path": str(work / "test.parquet"), "label": name}
        separate[name] = alloykit.amalgamate(
            evaluate=test_file, output=work / f"{name}-seed{seed}", **block, **common | {"cache": work / "cache" / name}
        )
    return {
        "joint": _accuracies(joined) | _costs([joint], test),
        "separate": _accuracies({name: part.metrics for name, part in separate.items()})
        | _costs(list(separate.values()), test),
    }


def _method(teachers: list[str]) -> dict[str, Any]:
    """Between teachers Alloy routes; one teacher alone is copied."""
    return {} if len(teachers) > 1 else {"method": {"name": "vanilla_kd"}}


def _accuracies(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: found["evaluation"]["scores"]["student"]["accuracy"] for name, found in metrics.items()}


def _costs(runs: list[alloykit.Run], test: list[str]) -> dict[str, float]:
    students, seconds = [Predictor.load(each.student, TOKENS) for each in runs], []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for student in students:
            student.probabilities(test)
        seconds.append(time.perf_counter() - begun)
    return {
        "training_seconds": sum(float((each.training or {"seconds": 0})["seconds"]) for each in runs),
        "reading_seconds": min(seconds),
        "megabytes": sum((each.student / "model.safetensors").stat().st_size for each in runs) / 1e6,
    }


def _texts(data: Path, question: str, dataset: DataSet) -> tuple[list[Example], list[Example], list[Example]]:
    """Texts for the teachers, of the pool, and of the test; no text is in two of them."""
    table, tested = (
        read(data / dataset.name / "train.parquet"),
        read(data / dataset.name / "test.parquet"),
    )
    rows = random.Random(f"{question} texts").sample(range(len(table)), TAUGHT + POOL)
    of_test = random.Random(f"{question} test").sample(range(len(tested)), TEST)

    def examples(found: Any, at: list[int]) -> list[Example]:
        return [{"text": found[i]["text"], "label": dataset.labels[found[i]["label"]]} for i in at]

    return examples(table, rows[:TAUGHT]), examples(table, rows[TAUGHT:]), examples(tested, of_test)


TABLE = Measurement("questions", "one student for two questions beside two students", run, "mixed")
