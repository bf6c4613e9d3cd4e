"""Multi-label teachers: each label is a yes-or-no question of its own, in a run of one question and beside another question."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from commandline import Call, run_here, write_csv, write_recipe
from shared import once, whole_run
from sklearn.metrics import average_precision_score, f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import alloykit
from alloykit.evaluation.drift import psi
from alloykit.evaluation.multi_label import MEAN, learned_labels, multi_label_scores
from alloykit.exporting.compared_answers import compared_answers
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.labels import LabelSpace
from alloykit.methods.multi_label import MultiLabel
from alloykit.methods.protocol import Context, LossInputs, Phase, StudentOutput
from alloykit.models.long_texts import Chunks
from alloykit.outputs import Rows, TeacherRows
from alloykit.serving.onnx_predictor import OnnxPredictor
from alloykit.serving.predictor import Predictor
from alloykit.stats.temperature import fit_binary_temperature, tempered_sigmoid
from alloykit.training.module import _with_given_labels

LABELS = ("toxic", "insult", "threat", "spam")
TRUTH = ("toxic", "", "toxic|insult", " spam | insult ")
SPACE = LabelSpace.union([LABELS[:3], ("insult", "spam")])


def recipe_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "teachers": [str(folder / "a"), str(folder / "b")],
        "method": "multi_label",
        "texts": str(folder / "texts.csv"),
        "student": {"model": str(folder / "encoder"), "layers": 2},
        "training": {"epochs": 2, "learning_rate": 3e-3, "batch_size": 16, "max_length": 32},
        "evaluate": {"data": {"path": str(folder / "test.csv"), "label": "kinds", "label_separator": "|"}},
        "output": str(folder / "run"),
    } | changes


@pytest.fixture(scope="session")
def taught_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two multi-label teachers that share a label, a single-label one, and a finished run of the first two."""

    def make(folder: Path) -> None:
        several = {"problem_type": "multi_label_classification"}
        tiny.classifier(folder / "a", LABELS[:3], "bert", seed=1, **several)
        tiny.classifier(folder / "b", ("insult", "spam"), "roberta", seed=2, **several)
        tiny.classifier(folder / "mood", ("good", "bad"), "bert", seed=5)
        tiny.encoder(folder / "encoder", "bert", seed=3)
        write_csv(folder / "texts.csv", [[text] for text in tiny.texts(90)])
        rows = [(text, TRUTH[i % 4], ("good", "bad")[i % 2]) for i, text in enumerate(tiny.texts(20, seed=9))]
        write_csv(folder / "test.csv", rows, ("text", "kinds", "mood"))
        done = run_here("amalgamate", write_recipe(folder, recipe_of(folder)))
        assert done.code == 0, done.err

    return once(whole_run(tmp_path_factory), "multi_label", make)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def test_the_loss_is_the_binary_divergence_of_each_label_by_a_plain_loop() -> None:
    n, g = 6, torch.Generator().manual_seed(0)
    first, second = torch.randn(n, 3, generator=g), torch.randn(n, 2, generator=g)
    told = torch.tensor([True, False, True, True, False, True])
    student = torch.randn(n, 4, generator=g, requires_grad=True)
    rows = Rows((TeacherRows(first), TeacherRows(second, answered=told)))
    method = MultiLabel(MultiLabel.Options())
    inputs = LossInputs(StudentOutput(student), rows, None, torch.nn.ModuleDict(), Context(SPACE), Phase())
    loss = method.loss(inputs)["kl"]
    for i in range(n):
        said: dict[str, list[float]] = {label: [] for label in LABELS}
        for label, z in zip(LABELS[:3], first[i].tolist(), strict=True):
            said[label].append(sigmoid(z))
        for label, z in zip(("insult", "spam"), second[i].tolist() if told[i] else (), strict=bool(told[i])):
            said[label].append(sigmoid(z))
        wanted = 0.0
        for label, s in zip(LABELS, student[i].tolist(), strict=True):
            if said[label]:  # nobody teaches a label that only a silent teacher knows
                t, q = sum(said[label]) / len(said[label]), sigmoid(s)
                wanted += t * math.log(t / q) + (1 - t) * math.log((1 - t) / (1 - q))
        assert float(loss[i].detach()) == pytest.approx(wanted, abs=1e-5)
    loss.sum().backward()
    assert student.grad is not None
    assert student.grad[1, 3] == 0


@pytest.mark.slow
def test_the_student_gives_a_probability_for_each_label(taught_labels: Path, call: Call) -> None:
    run = alloykit.Run(taught_labels / "run")
    model = AutoModelForSequenceClassification.from_pretrained(run.student)
    tokenizer = AutoTokenizer.from_pretrained(run.student)
    assert model.config.problem_type == "multi_label_classification"
    text = "refund my card please"
    p = model(**tokenizer(text, return_tensors="pt")).logits[0].sigmoid()
    said = run.predict(text)
    temperature = model.config.alloykit_temperature
    q = (model(**tokenizer(text, return_tensors="pt")).logits[0] / temperature).sigmoid()
    assert said["probabilities"] == pytest.approx(dict(zip(LABELS, q.tolist(), strict=True)), abs=1e-5)
    assert said["labels"] == [label for label, q in zip(LABELS, p.tolist(), strict=True) if q >= 0.5]
    lines = call("predict", taught_labels / "run", taught_labels / "test.csv").lines
    assert set(lines[0]) == {"row", "labels", "probabilities"}
    pool = (run.metrics or {})["multi_label"]["pool"]
    assert set(pool["labels"]) == set(LABELS)
    assert pool["unseen"]
    assert "micro-F1" in run.report_page.read_text()
    assert "micro-F1" in (run.student / "README.md").read_text()


@pytest.mark.slow
def test_a_finished_student_keeps_its_temperature(
    taught_labels: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again with other versions or another number of threads, the run may find another one."""
    run = shutil.copytree(taught_labels / "run", tmp_path / "run", copy_function=shutil.copy2)
    before = (run / "student" / "config.json").read_bytes()
    monkeypatch.setattr("alloykit.stages.multi_label_views.fit_binary_temperature", lambda *_: 7.5)
    again = call("amalgamate", write_recipe(tmp_path, recipe_of(taught_labels, output=str(run))))
    assert again.code == 0, again.err
    assert (run / "student" / "config.json").read_bytes() == before
    found = (alloykit.Run(run).metrics or {})["multi_label"]["pool"]["temperature"]
    assert found == json.loads(before)["alloykit_temperature"] != 7.5


@pytest.mark.slow
def test_scores_are_those_of_sklearn(taught_labels: Path, call: Call) -> None:
    found = json.loads(call("evaluate", taught_labels / "run", "--json").out)
    student = alloykit.Run(taught_labels / "run")
    texts = tiny.texts(20, seed=9)
    p = torch.tensor([list(student.predict(text)["probabilities"].values()) for text in texts])
    kinds = [[part.strip() for part in TRUTH[i % 4].split("|") if part] for i in range(20)]
    truth = torch.tensor([[label in own for label in LABELS] for own in kinds])
    scores = found["scores"]["student"]
    given = (p >= 0.5).numpy()
    assert scores["micro_f1"] == pytest.approx(f1_score(truth.numpy(), given, average="micro"), abs=1e-6)
    assert scores["exact"] == pytest.approx(float((given == truth.numpy()).all(-1).mean()), abs=1e-6)
    for c, label in enumerate(LABELS):
        if truth[:, c].any():
            assert scores["labels"][label]["f1"] == pytest.approx(f1_score(truth[:, c], given[:, c]), abs=1e-6)
            wanted = average_precision_score(truth[:, c], p[:, c])
            assert scores["labels"][label]["average_precision"] == pytest.approx(wanted, abs=1e-6)
    gain = found["significance"][MEAN]
    assert gain["low"] < gain["difference"] == pytest.approx(scores["micro_f1"] - found["scores"][MEAN]["micro_f1"])
    assert scores["labels"]["threat"]["f1"] is None
    assert set(found["scores"]["teacher b"]["labels"]) == {"insult", "spam"}, "a teacher is scored on its own labels"


def test_scores_of_a_classifier_that_knows_some_labels() -> None:
    nan = math.nan
    truth = torch.tensor([[True, False], [False, True], [True, True]])
    p = torch.tensor(
        [[0.9, nan], [0.5, nan], [nan, nan]]
    )  # a probability of 0.5 is enough, and the last text has no answer
    scores = multi_label_scores({"x": p}, truth, ("l", "m"))["scores"]["x"]
    assert scores["labels"] == {
        "l": {"texts": 1, "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "average_precision": 1.0}
    }
    assert scores["exact"] == 0.5
    assert scores["micro_f1"] == pytest.approx(2 / 3)
    other = torch.tensor([[0.9, 0.9], [0.1, 0.1], [nan, nan]])
    assert multi_label_scores({"x": other}, truth, ("l", "m"))["scores"]["x"]["macro_f1"] == 0.5, "of 1 and 0"


def test_what_was_learned_of_each_label() -> None:
    target = torch.tensor([[0.875, 0.25, 0.5], [0.5, 0.25, 0.5], [0.125, 0.75, 0.5]])
    student = torch.tensor([[0.625, 0.75, 0.5], [0.5, 0.75, 0.5], [0.75, 0.5, 0.5]])
    known = torch.tensor([[True, False, False], [True, False, False], [True, True, False]])
    found = learned_labels(target, known, student, ("l", "m", "n"))
    assert found == {
        "l": pytest.approx({"texts": 3, "target": 0.5, "student": 0.625, "difference": 0.875 / 3, "agree": 2 / 3}),
        "m": pytest.approx({"texts": 1, "target": 0.75, "student": 0.5, "difference": 0.25, "agree": 1.0}),
    }


def test_student_and_mean_are_compared_on_what_the_mean_knows() -> None:
    """The mean has no answer to the second text. On the others the student has an F1 of 1, and the mean 2/3 (one hit, one miss)."""
    truth = torch.tensor([[True, False], [True, True], [False, True]])
    mean = torch.tensor([[0.9, 0.1], [math.nan, math.nan], [0.1, 0.2]])
    found = multi_label_scores({"student": torch.where(truth, 0.9, 0.1), MEAN: mean}, truth, ("l", "m"))
    assert found["significance"][MEAN]["difference"] == pytest.approx(1 / 3)
    assert found["significance"][MEAN]["texts"] == 2
    assert "significance" not in multi_label_scores({MEAN: mean}, truth, ("l", "m"))
    nothing = torch.zeros_like(truth)
    assert "significance" not in multi_label_scores(
        {"student": torch.full_like(mean, 0.1), MEAN: torch.full_like(mean, 0.1)}, nothing, ("l", "m")
    )


@pytest.mark.slow
def test_beside_another_question(taught_labels: Path, tmp_path: Path, call: Call) -> None:
    values = recipe_of(taught_labels, output=str(tmp_path / "run"))
    for key in ("teachers", "method"):
        del values[key]
    values["questions"] = {
        "kinds": {"teachers": [str(taught_labels / "a"), str(taught_labels / "b")], "method": "multi_label"},
        "mood": {"teachers": [str(taught_labels / "mood")], "method": "uhc"},
    }
    del values["evaluate"]["data"]["label"]
    assert call("amalgamate", write_recipe(tmp_path, values)).code == 0
    run = alloykit.Run(tmp_path / "run")
    both = run.predict("my card is late")["answers"]
    alone = run.questions["kinds"].predict("my card is late")
    assert both["kinds"]["labels"] == alone["labels"]
    assert both["kinds"]["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-5)
    assert set(both["mood"]) == {"label", "probability"}
    assert call("predict", run.folder, taught_labels / "test.csv", "--to", tmp_path / "out").code == 0
    import pyarrow.parquet as pq

    [row, *_] = pq.read_table(tmp_path / "out" / "test.csv.parquet").to_pylist()
    assert isinstance(row["kinds.labels"], list)
    assert (run.questions["mood"].metrics or {})["evaluation"]["texts"] == 20


@pytest.mark.slow
def test_the_onnx_export_gives_the_same_sets_of_labels(taught_labels: Path, tmp_path: Path) -> None:
    place = alloykit.export(taught_labels / "run", int8=True, min_agreement=0.8, output=tmp_path / "onnx")
    record = json.loads((place / "export.json").read_text())
    assert record["graphs"]["float32"]["same_label"] == 1
    run = alloykit.Run(taught_labels / "run")
    evaluation = (run.metrics or {})["multi_label"]["evaluation"]
    assert record["accuracy"] == pytest.approx(evaluation["scores"]["student"]["exact"], abs=1e-4)
    onnx = OnnxPredictor.load(place, number_format="float32")
    assert onnx.multi_label
    texts = ["refund my card please", "the parcel is late"]
    wanted = torch.tensor([list(run.predict(text)["probabilities"].values()) for text in texts])
    assert torch.allclose(onnx.probabilities(texts), wanted, atol=1e-5)
    assert "sigmoid" in (place / "README.md").read_text()
    moved = compared_answers(wanted, 1 - wanted, onnx.parts)
    assert moved["same_label"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("method=alloy", ("teacher 'a' with a multi-label head", "`method: multi_label`")),
        ("teachers=[A, MOOD]", ("teacher 'mood' with a single-label head",)),
        ("generation={language_model: {model: x}, per_class: 2}", ("one label at a time",)),
        ("evaluate.data.label_separator=;", ("label_separator", "toxic|insult")),
    ],
)
def test_what_is_not_defined_is_refused(taught_labels: Path, call: Call, change: str, words: tuple[str, ...]) -> None:
    change = change.replace("A,", f"{taught_labels / 'a'},").replace("MOOD", str(taught_labels / "mood"))
    call("plan", taught_labels / "recipe.yaml", "--no-probe", "-o", change).refused(*words)


def test_the_temperature_explains_the_targets_best() -> None:
    g = torch.Generator().manual_seed(0)
    z, known = torch.randn(400, 3, generator=g, dtype=torch.float64), torch.rand(400, 3, generator=g) < 0.8
    target = torch.sigmoid(z / 2.5)
    found = fit_binary_temperature(torch.sigmoid(z), torch.where(known, target, 0.0), known)
    assert found == pytest.approx(2.5, rel=1e-3)
    assert torch.allclose(tempered_sigmoid(torch.sigmoid(z), 2.5), target, atol=1e-9)


def test_long_texts_have_the_mean_probability_of_each_label() -> None:
    chunks = Chunks([[{"input_ids": [1]}], [{"input_ids": [1]}] * 3])
    logits = torch.randn(4, 2, generator=torch.Generator().manual_seed(3))
    found = torch.sigmoid(chunks.mean_logits(logits, multi_label=True))
    for c in range(2):
        p = [sigmoid(z) for z in logits[:, c].tolist()]
        assert found[:, c].tolist() == pytest.approx([p[0], sum(p[1:]) / 3], abs=1e-6)


def test_checks_with_labels_and_texts_with_given_labels_by_a_plain_loop() -> None:
    z = torch.tensor([[2.0, -1.0, 3.0], [-1.0, -1.0, -1.0], [1.0, -2.0, -3.0]])
    truth = torch.tensor([[True, False, False], [False, False, False], [False, True, False]])
    rows = Rows((TeacherRows(torch.zeros(3, 3)),), labels=truth)
    assert MultiLabel(MultiLabel.Options()).correct(z, rows).tolist() == [0.5, 1.0, 0.0]
    source = WithLabelled(_Rows(2), _Rows(1), truth[:1])
    given = source.rows(range(3)).given
    assert given is not None
    assert given.tolist() == [[-1, -1, -1], [-1, -1, -1], [1, 0, 0]]
    loss = _with_given_labels(torch.tensor([5.0, 6.0, 7.0]), z, given)
    wanted = -math.log(sigmoid(1.0)) - math.log(1 - sigmoid(-2.0)) - math.log(1 - sigmoid(-3.0))
    assert loss.tolist() == pytest.approx([5.0, 6.0, wanted], abs=1e-5)


class _Rows:
    """n texts, whose teacher gives logits of 0."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def rows(self, indices: Any) -> Rows:
        return Rows((TeacherRows(torch.zeros(len(indices), 3)),))


@pytest.mark.slow
def test_after_the_run(taught_labels: Path, tmp_path: Path, call: Call) -> None:
    """watch, suggest and update --labelled of a multi-label run; its student reads long texts in chunks, and its checkpoint is chosen with labels."""
    run = taught_labels / "run"
    new = write_csv(tmp_path / "new.csv", [[text] for text in tiny.texts(60, seed=4)])
    found = alloykit.watch(run, new, output=tmp_path / "watch.html")
    student = alloykit.Run(run)
    said = student.predict(tiny.texts(60, seed=4))
    for c, label in enumerate(LABELS):
        rate = sum(label in answer["labels"] for answer in said) / 60
        assert found["labels"]["shares"][label]["new"] == pytest.approx(rate), c
    sure = [min(max(p, 1 - p) for p in answer["probabilities"].values()) for answer in said]
    assert found["confidence"]["mean"]["new"] == pytest.approx(sum(sure) / 60, abs=1e-3)
    assert found["labels"]["psi"] == max(
        psi(np.array([a * 90, 90 - a * 90]), np.array([b * 60, 60 - b * 60]))
        for a, b in ((row["pool"], row["new"]) for row in found["labels"]["shares"].values())
    )
    file = tmp_path / "to-label.csv"
    suggested = alloykit.suggest(run, 6, output=file)
    assert len({s.text for s in suggested}) == 6
    assert all(s.label == "?" for s in suggested)
    answer = student.predict(suggested[0].text)
    assert suggested[0].suggested == "|".join(answer["labels"])
    rows = list(csv.reader(file.read_text().splitlines()))
    rows[1][1], rows[2][1] = "threat|spam", ""  # the others stay unlabelled
    write_csv(file, rows[1:], rows[0])
    done = call(
        "update", run, "--labelled", file, "--output", tmp_path / "new", "-o", "training.epochs=1", "-o", "training.long_texts=mean",
        "-o", "training.select=labelled", "-o", f"validation={json.dumps(recipe_of(taught_labels)['evaluate'])}",
    )  # fmt: skip
    assert done.code == 0, done.err
    changes = json.loads((tmp_path / "new" / "changes.json").read_text())
    assert changes["multi_label"]
    before = (student.metrics or {})["multi_label"]["evaluation"]["scores"]["student"]
    assert changes["overall"]["old"] == pytest.approx(before["exact"])
    assert changes["labels"]["insult"]["old"] == pytest.approx(before["labels"]["insult"]["recall"])
    assert "exactly the true labels" in done.out
    again = alloykit.Run(tmp_path / "new")
    assert again.recipe.labelled is not None
    assert "4 missing label" in done.err, (
        "an empty cell says that no label fits, and ? that nobody has labelled the text"
    )
    long = " ".join(tiny.texts(40, seed=6))
    answers = again.predict([long, "refund"], none_of_these=True)
    assert all(0 <= answer["none_of_these"] <= 1 for answer in answers)
    assert bool(Predictor.load(tmp_path / "new" / "student").fitted_none_of_these.multi_label)


@pytest.mark.slow
def test_the_server_cannot_ask_the_teachers(taught_labels: Path, call: Call) -> None:
    call("serve", taught_labels / "run", "--port", 0, "--teachers").refused(
        "multi-label teachers", "Leave out `--teachers`"
    )


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--estimated-accuracy"])
def test_what_needs_labels_that_exclude_each_other_is_refused(taught_labels: Path, call: Call, option: str) -> None:
    call("predict", taught_labels / "run", taught_labels / "texts.csv", option).refused("multi-label")
