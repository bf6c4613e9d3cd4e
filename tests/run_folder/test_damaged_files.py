"""Damaged metrics.json and training.json: parts that each can be read, and that do not fit together, are refused with the part and the name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alloykit.errors import AlloyError
from alloykit.run_folder.file_names import METRICS, TRAINING
from alloykit.run_folder.read import read_metrics, read_training

SCORE: dict[str, Any] = {"accuracy": 0.5, "macro_f1": 0.5, "groups": {"one": 0.5, "two": None}, "interval": [0.4, 0.6]}
BIN = {"low": 0.5, "high": 0.6, "texts": 4, "confidence": 0.5, "accuracy": 0.5}
EVALUATION: dict[str, Any] = {
    "texts": 4,
    "scores": {"student": SCORE, "ensemble": SCORE},
    "judged": "student",
    "confusion": [[1, 0, 0], [0, 2, 0], [0, 0, 1]],
    "reliability": {"student": {"ece": 0.1, "overconfidence": -0.1, "bins": [BIN]}},
    "significance": {},
    "confidence": {"right": [1, 2], "wrong": [2, 1]},
    "routing": {"a": {"right": 1.0, "to": {"one": 1.0, "two": 0.0}}},
}
WHOLE: dict[str, Any] = {
    "method": {"name": "alloy"},
    "labels": ["a", "b", "c"],
    "teachers": {"one": ["a", "b"], "two": ["b", "c"]},
    "texts": {"used": 4},
    "warnings": [],
    "health": {"one": {"max_probability": 0.5, "excess": 0.1, "pass_variance": None, "predicted": {"a": 4}}},
    "estimated_accuracy": {"overall": 0.5, "labels": {"a": 0.5, "b": None, "c": 0.5}, "labelled_texts": 0},
    "agreement": {
        "confident_teachers": {"none": 1, "one": 2, "several": 1},
        "confidence": {"one": [1, 3], "two": [4, 0]},
    },
    "supervision": {
        "texts": 4,
        "effective_sample_size": 3.5,
        "weights": {"up_to": 1.0, "counts": [4]},
        "labels": {
            "a": {"texts": 2, "effective_sample_size": 2, "teacher_share": {"one": 0.5, "two": 0.5}},
            "b": {"texts": 2, "effective_sample_size": 2, "teacher_share": None},
            "c": {"texts": 0, "effective_sample_size": 0, "teacher_share": None},
        },
    },
    "evaluation": EVALUATION,
}
SUPERVISED = WHOLE["supervision"]["labels"]
HISTORY: list[dict[str, Any]] = [
    {"step": 1, "phase": "all", "loss": 0.5, "reward": 0.1},
    {"step": 2, "phase": "all", "eval_criterion": 0.4, "eval_standard_error": 0.1},
]
RECORD: dict[str, Any] = {"steps": 2, "selected_step": 2, "seconds": 1.0, "history": HISTORY}


def refused(path: Path, content: Any, *words: str) -> None:
    path.write_text(json.dumps(content))
    read = read_metrics if path.name == METRICS else read_training
    with pytest.raises(AlloyError) as error:
        read(path.parent)
    assert error.value.expected == f"{path} as alloykit wrote it"
    assert not [word for word in words if word not in error.value.got], error.value.got
    assert error.value.hint.startswith("Delete it")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": ["a", "b", "b"]}, "labels: the same label twice"),
        ({"teachers": WHOLE["teachers"] | {"one": ["a", "d"]}}, "labels (teacher 'one' has one more) has nothing for 'd'"),
        ({"health": {"three": WHOLE["health"]["one"]}}, "teachers has nothing for 'three'"),
        ({"agreement": WHOLE["agreement"] | {"confidence": {"one": [1, 3], "two": [4]}}}, "agreement.confidence: lists of different lengths"),
        ({"supervision": WHOLE["supervision"] | {"labels": {"a": SUPERVISED["a"], "b": SUPERVISED["b"]}}}, "supervision.labels has nothing for 'c'"),
        ({"supervision": WHOLE["supervision"] | {"labels": SUPERVISED | {"b": SUPERVISED["a"] | {"teacher_share": {"one": 1.0}}}}}, "supervision.labels.….teacher_share has nothing for 'two'"),
        ({"supervision": WHOLE["supervision"] | {"weights": {"up_to": 0.0, "counts": [4]}}}, "supervision.weights.up_to"),
        ({"multi_label": {"evaluation": {"texts": 4, "scores": {}}}}, "multi_label.evaluation.scores has nothing for 'mean of the teachers'"),
        ({"estimated_accuracy": WHOLE["estimated_accuracy"] | {"labels": {"a": 0.5, "b": 0.5}}}, "estimated_accuracy.labels has nothing for 'c'"),
    ],
)  # fmt: skip
def test_metrics_whose_parts_do_not_fit_together(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text(json.dumps(WHOLE))
    assert read_metrics(tmp_path) == WHOLE
    without_routing = WHOLE | {"evaluation": EVALUATION | {"routing": None}}
    (tmp_path / METRICS).write_text(json.dumps(without_routing))
    assert read_metrics(tmp_path) == without_routing
    refused(tmp_path / METRICS, WHOLE | changed, words)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"judged": "teacher"}, "evaluation.scores has nothing for 'teacher'"),
        ({"judged": "ensemble"}, "evaluation.reliability has nothing for 'ensemble'"),
        ({"scores": {"student": SCORE | {"groups": {"one": 0.5}}}}, "evaluation.scores.student.groups has nothing for 'two'"),
        ({"scores": {"student": {k: v for k, v in SCORE.items() if k != "interval"}}}, "evaluation.scores.student has nothing for 'interval'"),
        ({"confusion": [[1, 0, 0], [0, 1, 0]]}, "evaluation.confusion: not a row and a column for every label"),
        ({"confusion": [[1, 0], [0, 1]]}, "evaluation.confusion: not a row and a column for every label"),
        ({"scores": {"student": SCORE | {"interval": [0.4, 0.5, 0.6]}}}, "evaluation.scores.student.interval"),
        ({"reliability": {"student": {"ece": 0.1, "overconfidence": -0.1, "bins": []}}}, "evaluation.reliability.student.bins"),
        ({"confidence": {"right": [1], "wrong": [2, 1]}}, "evaluation.confidence: lists of different lengths"),
        ({"routing": {"a": {"right": 1.0, "to": {"one": 1.0}}}}, "evaluation.routing.….to has nothing for 'two'"),
    ],
)  # fmt: skip
def test_an_evaluation_whose_parts_do_not_fit_together(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    refused(tmp_path / METRICS, WHOLE | {"evaluation": EVALUATION | changed}, words)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (HISTORY[0] | {"reward": [0.1]}, "history: no number for 'reward' at step 1"),
        (HISTORY[0] | {"loss": [0.1]}, "history.0.loss: Input should be a valid number"),
        (HISTORY[0] | {"eval_criterion": 0.4}, "history: no eval_standard_error at step 1"),
        ({"phase": "all"}, "history.0.step: Field required"),
    ],
)
def test_a_history_of_the_training_without_numbers(entry: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / TRAINING).write_text(json.dumps(RECORD))
    assert read_training(tmp_path) == RECORD
    refused(tmp_path / TRAINING, RECORD | {"history": [entry, HISTORY[1]]}, words)


def test_at_most_five_problems_are_listed(tmp_path: Path) -> None:
    entries = [{"step": n, "phase": "all", "loss": "x"} for n in range(7)]
    refused(tmp_path / TRAINING, RECORD | {"history": entries}, "history.0.loss", "history.4.loss", "- and 2 more")


@pytest.mark.parametrize(
    ("content", "words"), [(b"{", "Invalid JSON"), (b"[]", "Input should be an object"), (b"\xff", "Invalid JSON")]
)
def test_files_that_are_no_such_json(content: bytes, words: str, tmp_path: Path) -> None:
    for name, read in ((METRICS, read_metrics), (TRAINING, read_training)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(AlloyError, match=words):
            read(tmp_path)
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        with pytest.raises(AlloyError, match="got a folder"):
            read(tmp_path)
