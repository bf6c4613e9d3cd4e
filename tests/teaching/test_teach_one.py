"""`teach`: an encoder learns some labels of a labelled file, and its folder works as a teacher."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import yaml
from commandline import Call, Finished, Taught, collect, files_of, write_csv, write_recipe
from toy import LABELS, TEAMS, examples
from transformers import AutoConfig

Recipe = dict[str, Any]


@pytest.fixture
def inputs(models: dict[str, Path], tmp_path: Path) -> Recipe:
    """A recipe for `teach` that is quick, and learns nothing much."""
    data = write_csv(tmp_path / "data.csv", examples(60), ("text", "label"))
    return {
        "model": {"model": str(models["encoder"]), "layers": 1},
        "data": {"path": str(data), "label": "label"},
        "training": {"epochs": 1, "max_length": 32},
        "output": str(tmp_path / "teacher"),
    }


def test_a_teacher_learns_its_labels(taught: Taught, call: Call) -> None:
    assert taught.result.code == 0, taught.result.err
    folder = taught.teachers["billing"]
    assert taught.result.out == f"teacher: {folder}\n"
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["held_out_accuracy"] > 0.9
    assert metrics["texts"] + metrics["held_out_texts"] == 180, "only the texts of its three labels"
    unseen = examples(60, seed=77, labels=TEAMS["billing"])
    answers = call("predict", folder, stdin="\n".join(text for text, _ in unseen)).lines
    right = [answer["label"] == label for answer, (_, label) in zip(answers, unseen, strict=True)]
    assert sum(right) / 60 > 0.9
    assert sorted({a["label"] for a in answers}) == sorted(TEAMS["billing"])


def test_its_folder_is_a_teacher(taught: Taught, finished: Finished) -> None:
    """The finished run was made of two such folders."""
    config = AutoConfig.from_pretrained(taught.teachers["billing"])
    assert config.id2label == dict(enumerate(TEAMS["billing"]))
    scores = json.loads((finished.folder / "metrics.json").read_text())["evaluation"]["scores"]
    assert scores["teacher billing"]["groups"]["billing"] > 0.9
    assert scores["teacher delivery"]["groups"]["delivery"] > 0.9
    assert scores["teacher billing"]["groups"]["delivery"] == 0


def test_only_what_belongs_to_a_teacher_is_left(taught: Taught) -> None:
    left = {p.name for p in taught.teachers["billing"].iterdir()}
    assert left >= {"config.json", "model.safetensors", "tokenizer.json", "metrics.json", "teach.yaml"}
    assert not left & {"training", ".ready"}
    log = (taught.teachers["billing"] / "run.log").read_text()
    assert " teacher billing: " in log
    assert log.count(": accuracy ") == 1
    made = yaml.safe_load((taught.teachers["billing"] / "teach.yaml").read_text())
    assert made["training"]["warmup"] == 0.1


@pytest.mark.parametrize("moved", [0, 2])
def test_killed_while_the_finished_files_are_moved(
    moved: int, inputs: Recipe, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was left behind is replaced."""
    done: list[Path] = []

    def replace(source: Path, target: Path) -> None:
        if len(done) == moved:
            raise KeyboardInterrupt
        done.append(target)
        source.rename(target)

    with monkeypatch.context() as killed:
        killed.setattr("alloykit.teaching.teaching_folder.os", SimpleNamespace(replace=replace))
        assert call("teach", write_recipe(tmp_path, inputs)).code == 130
    assert list((tmp_path / "teacher" / ".ready").iterdir())
    again = call("teach", write_recipe(tmp_path, inputs))
    assert again.code == 0, again.err
    assert not (tmp_path / "teacher" / ".ready").exists()
    assert AutoConfig.from_pretrained(tmp_path / "teacher").num_labels == len(LABELS)


@pytest.mark.parametrize("changes", [{}, {"save_every_seconds": 5}])
def test_a_finished_teacher_is_left_as_it_is(
    changes: dict[str, int], taught: Taught, tmp_path: Path, call: Call
) -> None:
    """Also if settings have changed that change no result."""
    folder = taught.teachers["billing"]
    before = files_of(folder)
    training = dict(taught.recipe.get("training", {})) | changes
    result = call("teach", write_recipe(tmp_path, dict(taught.recipe) | {"training": training}))
    assert result.code == 0, result.err
    assert "finished already" in result.err
    assert files_of(folder) | {"run.log": None} == before | {"run.log": None}
    assert (folder / "run.log").read_text().endswith(f"{folder} is finished already\n")


def test_a_teacher_of_an_earlier_version_is_the_same(taught: Taught, tmp_path: Path, call: Call) -> None:
    """Its record has no settings that came later; they have their defaults."""
    shutil.copytree(taught.teachers["billing"], tmp_path / "teacher")
    record = tmp_path / "teacher" / "made_of.json"
    made_of = json.loads(record.read_text())
    assert made_of["training"].pop("long_texts") == "head"
    assert made_of.pop("device") == "auto"
    record.write_text(json.dumps(made_of | {"output": str(tmp_path / "teacher")}))
    recipe = taught.recipe | {"labels": list(TEAMS["billing"]), "output": str(tmp_path / "teacher")}
    again = call("teach", write_recipe(tmp_path, recipe))
    assert "finished already" in again.err, again.err
    long = recipe | {"training": recipe["training"] | {"long_texts": "tail"}}
    refused = call("teach", write_recipe(tmp_path, long))
    assert refused.code == 2
    assert "training.long_texts: was 'head', now 'tail'" in refused.message


def test_another_recipe_in_the_same_folder_is_refused(taught: Taught, tmp_path: Path, call: Call) -> None:
    before = files_of(taught.teachers["billing"])
    result = call("teach", write_recipe(tmp_path, taught.recipe | {"labels": ["refund", "charge"]}))
    collect("teach: changed recipe", result)
    result.refused("recipe", "labels: was", "now ['refund', 'charge']", "output")
    assert files_of(taught.teachers["billing"]) == before


def test_integer_labels_get_their_names(inputs: Recipe, tmp_path: Path, call: Call) -> None:
    numbers = [(text, LABELS.index(label)) for text, label in examples(60)]
    inputs["data"]["path"] = str(write_csv(tmp_path / "numbers.csv", numbers, ("text", "label")))
    inputs["data"]["label_names"] = list(LABELS)
    inputs["labels"] = ["damaged", "refund"]
    result = call("teach", write_recipe(tmp_path, inputs))
    assert result.code == 0, result.err
    assert AutoConfig.from_pretrained(tmp_path / "teacher").id2label == {0: "damaged", 1: "refund"}
    metrics = json.loads((tmp_path / "teacher" / "metrics.json").read_text())
    assert metrics["texts"] + metrics["held_out_texts"] == 24


def test_a_validation_file_selects_the_checkpoint(inputs: Recipe, tmp_path: Path, call: Call) -> None:
    checks = write_csv(tmp_path / "checks.csv", examples(25, seed=2), ("text", "label"))
    inputs |= {"validation": {"data": {"path": str(checks), "label": "label"}}, "labels": list(LABELS[:2])}
    result = call("teach", write_recipe(tmp_path, inputs))
    assert result.code == 0, result.err
    metrics = json.loads((tmp_path / "teacher" / "metrics.json").read_text())
    assert (metrics["texts"], metrics["held_out_texts"]) == (24, 10)


BAD: dict[str, tuple[Recipe, tuple[str, ...]]] = {
    "unknown label": ({"labels": ["refund", "weather"]}, ("none with 'weather'", "refund", "damaged")),
    "one label": ({"labels": ["refund"]}, ("at least 2 labels", "refund")),
    "the same label twice": ({"labels": ["refund", "refund"]}, ("refund", "more than once")),
    "no label column": ({"data": {"path": "plain.csv"}}, ("column 'label'", "plain.csv")),
    "integer labels without names": ({"data": {"path": "numbers.jsonl"}}, ("names for integer labels", "label_names")),
    "unknown key": ({"modle": "x"}, ("modle", "did you mean 'model'")),
    "recipe of another command": ({"teachers": ["a"], "texts": "b"}, ("teachers", "texts")),
    "missing encoder": ({"model": "encoders/nowhere"}, ("encoders/nowhere",)),
    "too many layers": ({"model": {"model": "ENCODER", "layers": 9}}, ("at least 9 layers", "with 3")),
    "missing validation": ({"validation": {"data": "no.csv"}}, ("no.csv",)),
}


@pytest.mark.parametrize("name", BAD)
def test_teach_refuses(
    name: str, inputs: Recipe, models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "plain.csv", [[t] for t in tiny.texts(9)])
    (tmp_path / "numbers.jsonl").write_text('{"text": "hi", "label": 0}\n{"text": "ho", "label": 1}\n')
    changes, words = BAD[name]
    recipe = yaml.safe_load(yaml.safe_dump(inputs | changes).replace("ENCODER", str(models["encoder"])))
    result = call("teach", write_recipe(tmp_path, recipe))
    collect(f"teach: {name}", result)
    result.refused(*words)
    assert not (tmp_path / "teacher").exists()
