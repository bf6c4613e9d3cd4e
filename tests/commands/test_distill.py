"""`alloykit distill`: every method from a recipe, on single texts and pairs; kills; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from commandline import Call, write_recipe
from labelled_texts import LABELS, TRAINING, arguments
from markupsafe import escape
from transformers import AutoModelForSequenceClassification

import alloykit
from alloykit.errors import AlloyError
from alloykit.methods.registry import create, methods

pytestmark = pytest.mark.slow

ROUTED = {
    "kd", "u_ensemble", "w_ensemble", "lr_train_ensemble", "lr_dev_ensemble", "distilbert", "pkd", "tinybert",
    "dissimilarity_ensemble",
}  # fmt: skip
ONE_TASK = sorted(name for name, method in methods().items() if method.one_task)


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three architectures, two widths and two tokenizers; the first is as wide as the student."""
    folder = tmp_path_factory.mktemp("teachers")
    tiny.classifier(folder / "one", LABELS, "bert", seed=1)
    tiny.classifier(folder / "two", ["yes", "no"], "roberta", seed=2, num_hidden_layers=2, hidden_size=16)
    tiny.classifier(folder / "three", LABELS, "bert", seed=3)
    return [folder / name for name in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("name", "pairs"),
    [(name, False) for name in ONE_TASK] + [(name, True) for name in ("mt_bert", "rl_kd", "tinybert")],
)
def test_every_method_of_one_task_makes_a_plain_classifier(
    name: str, pairs: bool, teachers: list[Path], models: dict[str, Path], tmp_path: Path
) -> None:
    values = arguments(teachers, models, tmp_path, {"name": name}, pairs=pairs)
    if name == "mt_bert":
        del values["method"]  # it is the default
    run = alloykit.distill(**values, cache=teachers[0].parent / "cache")  # every method reads the same outputs
    model, report = AutoModelForSequenceClassification.from_pretrained(run.student, output_loading_info=True)
    assert run.metrics["method"]["name"] == name
    mapped = [h["mapped_size"] for h in run.training["history"] if "mapped_size" in h]
    assert bool(mapped) is (name == "mt_bert")
    assert all(size > 0 for size in mapped)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.config.num_hidden_layers == 2
    assert sorted(model.config.id2label.values()) == LABELS
    scores = run.metrics["evaluation"]["scores"]
    assert {"accuracy", "macro_f1"} <= set(scores["student"])
    assert "ensemble" in scores or name == "supervised"
    assert ("routing" in scores) is (name in ROUTED), "a target that reads the label, or is drawn, answers no test text"
    sizes = run.metrics["models"]
    assert list(sizes)[-1] == "student"
    assert all(m["texts_per_second"] > 0 and m["parameters"] > 0 for m in sizes.values())
    page = run.report_page.read_text(encoding="utf-8")
    assert "Size and speed" in page
    assert ("texts with labels" in page) is create(name).needs.labels


def test_the_command_line_and_a_student_with_the_pooled_head(
    teachers: list[Path], models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    values = arguments(teachers, models, tmp_path, "u_ensemble")
    values["student"] |= {"head": "pooled"}
    values |= {"teachers": [str(t) for t in teachers], "output": str(tmp_path / "run")}
    values["validation"], values["evaluate"] = {"data": values["validation"]}, {"data": values["evaluate"]}
    done = call("distill", write_recipe(tmp_path, values))
    assert done.code == 0, done.err
    assert "macro-F1" in done.out
    student = tmp_path / "run" / "student"
    assert f"student: {student}" in done.out
    assert (student / "head.safetensors").exists()
    assert alloykit.Run(student.parent).predict(["late parcel"])[0]["label"] in LABELS


def test_rl_kd_shows_whom_it_selected(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    values = arguments(teachers, models, tmp_path, {"name": "rl_kd", "policy_epochs": 1})
    run = alloykit.distill(**values | {"training": TRAINING | {"select": "last"}})
    training = run.training
    assert {h["phase"] for h in training["history"]} == {"pretrain", "joint"}
    steps = [h["step"] for h in training["history"]]
    assert steps == sorted(steps), "steps count on through the phases"
    assert training["steps"] == 2 * 5
    shares = [h for h in training["history"] if "selected_none" in h]
    assert shares
    assert {"selected_0", "selected_1", "selected_2"} <= set(shares[0])
    (section,) = training["report"]["sections"]
    (table,) = (part for part in section["parts"] if part["kind"] == "table")
    assert {row[0] for row in table["rows"]} == set(LABELS)
    assert sum(row[1] for row in table["rows"]) == 40, "one epoch"
    page = run.report_page.read_text(encoding="utf-8")
    assert section["title"] in page
    assert str(escape(table["caption"])) in page


@pytest.mark.parametrize(
    "method", [{"name": "rl_kd", "schedule": "algorithm2"}, {"name": "tinybert"}], ids=lambda m: m["name"]
)
def test_killed_and_started_again_it_gives_the_same_student(
    method: dict[str, Any],
    teachers: list[Path],
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    cache = teachers[0].parent / "cache"
    whole = alloykit.distill(**arguments(teachers, models, tmp_path / "a", method), cache=cache)
    from alloykit.training.phase_trainer import PhaseTrainer

    real, steps = PhaseTrainer.training_step, []

    def step(self: PhaseTrainer, *args: Any, **kwargs: Any) -> Any:
        steps.append(1)
        if len(steps) == 8:  # in the second phase, after its first checkpoint
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(PhaseTrainer, "training_step", step)
    with pytest.raises(KeyboardInterrupt):
        alloykit.distill(**arguments(teachers, models, tmp_path / "b", method), cache=cache)
    cut = alloykit.distill(**arguments(teachers, models, tmp_path / "b", method), cache=cache)
    one, other = (AutoModelForSequenceClassification.from_pretrained(run.student).state_dict() for run in (whole, cut))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert whole.training["report"] == cut.training["report"]


def test_what_is_refused(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match=r"teachers of one task.*got 'muka'.*Take one of.*mt_bert"):
        alloykit.distill(**arguments(teachers, models, tmp_path, "muka"))
    other = tmp_path / "other"
    tiny.classifier(other, ["no", "maybe"], "bert")
    with pytest.raises(AlloyError, match=r"know the same labels \('no', 'yes'\).*got 'other' with 'maybe', 'no'"):
        alloykit.distill(**arguments([*teachers, other], models, tmp_path, "u_ensemble"))
    values = arguments(teachers, models, tmp_path, {"name": "lr_dev_ensemble"})
    del values["validation"]
    with pytest.raises(AlloyError, match=r"validation: \{data.*method 'lr_dev_ensemble' needs them"):
        alloykit.distill(**values)
    unlabelled = arguments(teachers, models, tmp_path, "kd") | {"texts": tiny.texts(10)}
    with pytest.raises(AlloyError, match="label"):
        alloykit.distill(**unlabelled)
    assert not (tmp_path / "run").exists()
