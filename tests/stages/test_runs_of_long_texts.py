"""Long texts from the recipe to the student: what teachers answer, what is stored, and what the student does when it predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import alloykit
from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.serving.predictor import Predictor
from alloykit.serving.student_reading import read_by_student

pytestmark = pytest.mark.slow

LENGTH = 10
LONG = [" ".join(tiny.texts(4, seed=n)) for n in range(40)]
TRAINING = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 16, "max_length": LENGTH, "select": "last"}


def by_hand(folder: Path, text: str, how: str, length: int = LENGTH) -> torch.Tensor:
    """Probabilities from the model itself: the chunks of a text, or the tokens that are kept."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    whole, room = tokenizer(text, add_special_tokens=False).input_ids, length - 2
    n = -(-len(whole) // room)
    parts = {
        "head": [whole[:room]],
        "tail": [whole[-room:]],
        "mean": [whole[len(whole) * i // n : len(whole) * (i + 1) // n] for i in range(n)],
    }[how]
    with torch.inference_mode():
        found = [model(torch.tensor([[2, *part, 3]])).logits.float().softmax(-1)[0] for part in parts]
    return torch.stack(found).mean(0)


def amalgamated(models: dict[str, Path], folder: Path, **changes: Any) -> Any:
    values: dict[str, Any] = {
        "teachers": [str(models["billing"]), {"model": str(models["delivery"]), "long_texts": "tail", "max_length": 8}],
        "texts": LONG,
        "student": {"model": str(models["encoder"]), "layers": 1},
        "method": {"name": "muka", "passes": 4},
        "training": TRAINING | {"long_texts": "mean"},
        "inference": {"long_texts": "mean", "precision": "float32"},
        "output": folder / "run",
    }
    return alloykit.amalgamate(**values | changes)


@pytest.fixture(scope="module")
def run(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return amalgamated(models, tmp_path_factory.mktemp("long"))


def test_teachers_answer_as_their_setting_says(run: Any, models: dict[str, Path]) -> None:
    store = Store(run.folder / "cache")
    ids = list(load_texts(LONG).table["id"])
    rows = StoredKnowledge(store, ["billing", "delivery"], ids, passes=4).rows(range(3))
    for teacher, name, how, length in zip(rows.teachers, models, ("mean", "tail"), (LENGTH, 8), strict=False):
        for row, text in zip(teacher.logits.softmax(-1), LONG, strict=False):
            torch.testing.assert_close(row, by_hand(models[name], text, how, length), rtol=1e-4, atol=1e-5)
    sums = rows.teachers[0].probability_sum
    assert sums is not None
    torch.testing.assert_close(sums.sum(-1), torch.full((3,), 4.0), rtol=1e-4, atol=1e-4)
    made = {name: store.identity(name, "teacher") or {} for name in ("billing", "delivery")}
    assert [(made[n]["long_texts"], made[n]["max_length"]) for n in made] == [("mean", LENGTH), ("tail", 8)]
    inputs = json.loads((run.folder / "inputs.json").read_text())
    assert inputs["cache"]["billing"]["teacher"]["long_texts"] == "mean"


def test_the_student_predicts_as_it_was_set(run: Any) -> None:
    config = json.loads((run.student / "config.json").read_text())
    assert config["alloykit_long_texts"] == "mean"
    bare = Predictor.load(run.student).probabilities(LONG[:3], calibrated=False)
    for row, text in zip(bare, LONG, strict=False):
        torch.testing.assert_close(row, by_hand(run.student, text, "mean"), rtol=1e-4, atol=1e-5)
    told = [answer["probability"] for answer in run.predict(LONG[:3])]
    power = bare.double() ** (1 / config.get("alloykit_temperature", 1.0))
    assert told == pytest.approx((power / power.sum(-1, keepdim=True)).max(-1).values.tolist(), abs=1e-4)


def test_the_warning_names_what_is_read_and_the_option(run: Any) -> None:
    told = [line for line in run.metrics["warnings"] if "reads only" in line]
    assert len(told) == 1, "the teacher that reads all of a text misses nothing"
    assert "teacher 'delivery' reads only the end of 100 % of the texts" in told[0]
    assert "inference: {long_texts: mean}" in told[0]


def test_outputs_that_were_read_otherwise_are_not_mixed(run: Any, models: dict[str, Path], tmp_path: Path) -> None:
    teachers = [str(models["billing"]), str(models["delivery"])]
    with pytest.raises(AlloyError, match=r"teacher 'billing' made with long_texts = head; got long_texts = mean"):
        amalgamated(
            models,
            tmp_path,
            teachers=teachers,
            inference={"long_texts": "head", "precision": "float32"},
            cache=run.folder / "cache",
        )


def test_a_classifier_that_was_taught_so_reads_so_as_a_teacher(tmp_path: Path, models: dict[str, Path]) -> None:
    data = [{"text": text, "label": ("yes", "no")[n % 2]} for n, text in enumerate(LONG)]
    folder = alloykit.teach(
        {"model": str(models["encoder"]), "layers": 1}, data,
        training=TRAINING | {"long_texts": "tail"}, output=tmp_path / "taught",
    )  # fmt: skip
    (row,) = Predictor.load(folder).probabilities(LONG[:1])
    torch.testing.assert_close(row, by_hand(folder, LONG[0], "tail"), rtol=1e-4, atol=1e-5)
    from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info

    info = read_teacher_info(HuggingFaceSpec(model=str(folder)), "taught")
    assert info.reads(LENGTH, None) == (LENGTH, "tail")
    assert info.reads(LENGTH, "head") == (LENGTH, "head"), "the recipe comes first"


def test_methods_that_compare_tokens_read_the_beginning(models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match=r"`long_texts: head` of teacher 'delivery'.*'dfa' compares.*got tail"):
        amalgamated(models, tmp_path, method="dfa", inference=None, training=TRAINING)
    assert not (tmp_path / "run").exists()


def test_how_unusual_a_text_in_chunks_is(run: Any) -> None:
    student = Predictor.load(run.folder / "student", LENGTH)
    fitted, (_, states) = student.fitted_none_of_these, student.with_states(LONG[:3])
    found = student.predict(LONG[:3], none_of_these=True)
    assert states is not None
    torch.testing.assert_close(found.none_of_these, fitted.score(fitted.measures(states)), rtol=0, atol=1e-5)
    torch.testing.assert_close(found.probabilities, student.probabilities(LONG[:3]))
    read = read_by_student(student, LONG[:3], states=True)
    torch.testing.assert_close(read.probabilities, found.probabilities)
    assert read.states is not None
    assert read.states.shape == (3, student.model.config.hidden_size)
