"""Targets of a cell: two tiny teachers over four labels, asked about texts that name their label."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest
import tiny
import torch

from alloykit.methods.protocol import EstimatedAccuracy
from benchmarks.alloy import other_topics, other_topics_students, repeated, targets_of_files
from benchmarks.alloy.estimated import beside
from benchmarks.alloy.gate import Gate
from benchmarks.alloy.gate_student import gate_student
from benchmarks.alloy.scores import bits
from benchmarks.alloy.target import rivals, target
from benchmarks.harness.cells import run_cell
from benchmarks.harness.data import FOREIGN
from benchmarks.harness.data_set import DataSet
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.results import numbers
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, TeacherPlan
from benchmarks.harness.stages import Stages

pytestmark = pytest.mark.slow

GROUPS = {"teacher1": ("a", "b"), "teacher2": ("c", "d")}
POOLS = {"disjoint": 2, "foreign50": 0}


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stages:
    def put(name: str, rows: dict[str, Any]) -> None:
        path = tmp_path / "data" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict(rows).to_parquet(str(path))

    for part, n in (("train", 120), ("test", 40)):
        texts = tiny.texts(n)
        put(
            f"toy/{part}",
            {"text": [f"{part} {t} {i}" for i, t in enumerate(texts)], "label": [i % 4 for i in range(n)]},
        )
    put(f"{FOREIGN}/train", {"text": [f"foreign {i}" for i in range(100)]})
    monkeypatch.setitem(SETS, "toy", DataSet("toy", "Toy", ("a", "b", "c", "d")))
    folders = [tiny.classifier(tmp_path / name, labels, "bert", seed=1) for name, labels in GROUPS.items()]
    monkeypatch.setattr(Stages, "teacher_folders", lambda *_: folders)
    setting = Setting("toy", "Toy", tuple(TeacherPlan("toy", labels) for labels in GROUPS.values()))
    profile = replace(SMALL, texts=40, test=20, encoders={"english": {"model": "unused"}})
    found = Stages(tmp_path / "data", tmp_path / "work", setting, profile, 0, passes=POOLS, reads=(Gate().reads,))
    found.ready("disjoint")
    found.ready("foreign50")
    return found


def test_the_targets_of_a_pool(stages: Stages) -> None:
    found = rivals(stages, "disjoint")
    labels = numbers(found["labels"])
    assert len(labels) == 20
    ways = found["ways"]
    assert set(ways) == {"ensemble", "muka-plain", "energy", "max_logit", "oracle", "gate"}, (
        "muka-soft has more passes than this sweep"
    )
    for way in ways.values():
        right = bits(way["test"]["right"], 20)
        assert way["test"]["accuracy"] == pytest.approx(right.mean())
        assert 0 <= way["pool"]["balanced_accuracy"] <= 1
    best = bits(ways["oracle"]["test"]["right"], 20)
    for i, name in enumerate(GROUPS):
        mine = [label in ((0, 1), (2, 3))[i] for label in labels]
        assert found["own"][i] == pytest.approx(best[mine].mean()), f"oracle routing asks {name} about its own labels"
    for name in ("ensemble", "energy"):
        assert not (bits(ways[name]["test"]["right"], 20) & ~best).any(), (
            "what the owner has wrong no routing has right"
        )


def test_alloys_own_measures_are_recorded(stages: Stages) -> None:
    """The separation of the energies; κ only with an encoder's states."""
    found = target(stages, "disjoint", {"name": "alloy", "encoder": None, "min_texts": 10, "texts_per_label": 1})
    assert isinstance(found["mean_separation"], float)
    assert "label_agreement" not in found
    assert "mean_separation" not in target(stages, "disjoint", {"name": "ensemble"})


def test_foreign_texts_are_fitted_to_but_not_scored(stages: Stages) -> None:
    found = target(stages, "foreign50", {"name": "muka", "confidence": "energy", "mode": "hard", "reweight": False})
    assert found["pool"]["texts"] == 40
    assert found["weight_on_foreign"] == pytest.approx(0.5)
    assert "weight_on_foreign" not in target(stages, "disjoint", {"name": "ensemble"})


def test_an_estimate_is_beside_the_truth() -> None:
    """Over all texts, and over those of each label that enough texts get."""
    targets = torch.tensor([[0.9, 0.1, 0]] * 12 + [[0.2, 0.8, 0]] * 10 + [[0, 0.4, 0.6]] * 3).double()
    labels = torch.tensor([0] * 9 + [1] * 13 + [2] * 3)
    found = beside(EstimatedAccuracy(0.7, (0.8, None, 0.5)), targets, labels)
    assert found["accuracy"] == pytest.approx(22 / 25)
    assert found["estimate"] == 0.7
    assert found["confidence"] == pytest.approx((12 * 0.9 + 10 * 0.8 + 3 * 0.6) / 25)
    assert found["labels"] == [[0.75, 0.8, 0.9]], "a label without estimate, and one with three texts, are left out"


def test_the_gate_learns_from_the_states_that_it_is_given(stages: Stages) -> None:
    """States that are the label make it oracle routing; constant ones make it name one label."""
    space = stages.setting.space
    truth = {
        name: stages.texts_of(path, want_labels=True)
        for name, path in (("pool", stages.pool("disjoint")), ("test", stages.test()))
    }
    codes = {
        n: torch.nn.functional.one_hot(torch.tensor([space.names.index(y) for y in t.table["label"]]), 4).double() * 100
        for n, t in truth.items()
    }
    oracle = target(stages, "disjoint", {"name": "oracle"})
    queue = [codes["pool"], codes["test"]]
    found = Gate(states=lambda rows: queue.pop(0))(stages, "disjoint")
    assert found["test"]["right"] == oracle["test"]["right"]
    assert found["pool"]["accuracy"] == pytest.approx(oracle["pool"]["accuracy"])


def test_the_gates_student_learns_from_the_labels_that_the_gate_names(
    stages: Stages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A gate that names the true labels has the student of oracle routing, and one that names others has another one."""
    student = tiny.encoder(tmp_path / "student", "bert", seed=3)
    monkeypatch.setattr(Stages, "encoder", lambda *_, **__: {"model": str(student)})
    stages.profile = replace(stages.profile, student={"epochs": 4, "learning_rate": 5e-3})
    texts = stages.texts_of(stages.pool("disjoint"), want_labels=True)
    truth = torch.tensor([stages.setting.space.names.index(y) for y in texts.table["label"]])
    monkeypatch.setattr(Gate, "named", lambda *_: (texts, truth))
    found, oracle = gate_student(stages, "disjoint"), run_cell(stages, "disjoint", {"name": "oracle"})
    assert found["answers"] == oracle["answers"]
    assert found["confidence"] == oracle["confidence"]
    monkeypatch.setattr(Gate, "named", lambda *_: (texts, (truth + 2) % 4))
    assert gate_student(stages, "disjoint")["confidence"] != oracle["confidence"]


def test_the_gate_names_a_label_for_each_text_of_the_pool(stages: Stages) -> None:
    texts = stages.texts_of(stages.pool("disjoint"), want_labels=True)
    truth = torch.tensor([stages.setting.space.names.index(y) for y in texts.table["label"]])
    codes = torch.nn.functional.one_hot(truth, 4).double() * 100
    found, named = Gate(states=lambda rows: codes).named(stages, "disjoint")
    assert list(found.table["text"]) == list(texts.table["text"])
    assert named.equal(truth)
    constant = Gate(states=lambda rows: torch.zeros(len(codes), 3).double()).named(stages, "disjoint")[1]
    assert len(set(constant[::2].tolist())) == len(set(constant[1::2].tolist())) == 1


def only(stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of files are those of these teachers alone."""
    for name, value in {
        "NAMES": ("toy",),
        "settings": lambda: (stages.setting,),
        "set_of": lambda _: "ag_news",
        "Stages": lambda *_, **__: stages,
    }.items():
        monkeypatch.setattr(targets_of_files, name, value)


def test_pools_of_other_topics(stages: Stages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The set's own texts, and those of a source of which the tokenizer knows all words. A source with few of them is left out."""
    student = tiny.encoder(tmp_path / "student", "bert", seed=3)
    monkeypatch.setattr(Stages, "encoder", lambda *_, **__: {"model": str(student)})
    for source, texts in {
        "talk": tiny.texts(60, seed=5),
        "few": tiny.texts(5, seed=6),
        "other words": ["日本"] * 60,
    }.items():
        path = tmp_path / "data" / source / "train.parquet"
        path.parent.mkdir()
        datasets.Dataset.from_dict({"text": texts}).to_parquet(str(path))
    for name, value in {"SOURCES": ("talk", "few", "other words", "toy"), "SIZE": 50, "LEAST": 20}.items():
        monkeypatch.setattr(other_topics, name, value)
    only(stages, monkeypatch)
    pools = {
        pool["source"]: pool for pool in other_topics.run(tmp_path / "data", tmp_path / "work" / "topics")["pools"]
    }
    assert {source: pool["texts"] for source, pool in pools.items()} == {"own": 40, "talk": 50}
    for pool in pools.values():
        assert pool["choice"]
        assert (pool["used"], pool["warned"]) == (False, True), "so few texts have no mixture"
    labels = target(stages, "disjoint", {"name": "ensemble"})["test"]["accuracy"]
    assert [pool["accuracy"]["ensemble"] for pool in pools.values()] == [pytest.approx(labels)] * 2, "it is not fitted"


def test_students_of_other_topics(stages: Stages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They learn from the texts of the source, and not from the set's own."""
    student = tiny.encoder(tmp_path / "student", "bert", seed=3)
    monkeypatch.setattr(Stages, "encoder", lambda *_, **__: {"model": str(student)})
    path = tmp_path / "data" / "talk" / "train.parquet"
    path.parent.mkdir()
    datasets.Dataset.from_dict({"text": tiny.texts(60, seed=5)}).to_parquet(str(path))
    read = list[int]()
    run_recipe = other_topics_students.run_recipe

    def noted(recipe: Any, **more: Any) -> Any:
        read.append(datasets.Dataset.from_parquet(recipe.texts.path).num_rows)
        return run_recipe(recipe, **more)

    for name, value in {
        "POOLS": (("toy", "talk"),),
        "SIZE": 50,
        "settings": lambda: (stages.setting,),
        "set_of": lambda _: "ag_news",
        "Stages": lambda *_, **__: stages,
        "run_recipe": noted,
    }.items():
        monkeypatch.setattr(other_topics_students, name, value)
    [found] = other_topics_students.run(tmp_path / "data", tmp_path / "work" / "topics")["pools"]
    assert read == [50, 50, 50]
    assert (found["source"], found["texts"], found["choice"], found["used"]) == ("talk", 50, True, False)
    assert set(found["accuracy"]) == {"alloy", "vanilla_kd", "uhc"}
    assert all(0 <= accuracy <= 1 for accuracy in found["accuracy"].values())


def test_pools_in_which_texts_repeat(stages: Stages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tenth of the texts four times: word for word, and after a number that is another one each time."""
    student = tiny.encoder(tmp_path / "student", "bert", seed=3)
    monkeypatch.setattr(Stages, "encoder", lambda *_, **__: {"model": str(student)})
    monkeypatch.setattr(repeated, "REPEATS", ((0.1, 4),))
    only(stages, monkeypatch)
    found = repeated.run(tmp_path / "data", tmp_path / "work" / "repeated")["pools"]
    assert [(pool["kind"], pool["texts"]) for pool in found] == [
        ("own", 40),
        ("word for word", 40 + 4 * 3),
        ("with another number", 40 + 4 * 3),
    ]
    assert [pool["accuracy"]["ensemble"] for pool in found] == [found[0]["accuracy"]["ensemble"]] * 3, "it isn't fitted"
    _, same, numbered = (texts for _, texts in repeated.pools([f"text {i}" for i in range(40)]))
    assert sorted(Counter(same).values()) == [1] * 36 + [4] * 4
    assert len(set(numbered)) == 52
    assert Counter(text.split(" : ")[-1] for text in numbered) == Counter(same)
