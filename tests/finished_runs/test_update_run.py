"""`update`: only what is new is computed, the student continues, the earlier run stays, and what changed is said per label."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny
import toy
from commandline import Call, Finished, Result, collect, files_of, write_csv
from safetensors.torch import load_file

import alloykit
from alloykit.data import load_texts
from alloykit.finished_runs import link_outputs
from alloykit.finished_runs.folder_of_update import next_folder
from alloykit.finished_runs.update_recipe import Changes, updated_recipe
from alloykit.stages import amalgamation

pytestmark = pytest.mark.slow

QUICK = ("-o", "training.epochs=0.2")


@pytest.fixture(scope="module")
def third(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.classifier(tmp_path_factory.mktemp("third") / "account", ("login", "refund"), "bert", seed=5)


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [(text,) for text, _ in toy.examples(60, seed=77)]
    return write_csv(tmp_path_factory.mktemp("more") / "more.csv", rows)


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    return tmp_path / "run"


def units(run: Path, teacher: str) -> dict[str, int]:
    """The files of a teacher's outputs and their inodes: a linked file has that of the earlier run."""
    folder = run / "cache" / "teachers" / teacher
    return {p.name: p.stat().st_ino for p in folder.rglob("*.safetensors")}


def student(run: Path) -> dict[str, Any]:
    return {key: value.tolist() for key, value in load_file(run / "student" / "model.safetensors").items()}


def test_only_what_is_new_is_computed(run: Path, third: Path, more: Path, call: Call) -> None:
    before = files_of(run)
    result = call("update", run, "--add-teacher", third, "--add-texts", more, *QUICK)
    assert result.code == 0, result.err
    assert files_of(run) == before, "the earlier run stays as it is"
    new = run.with_name("run-2")
    # 300 texts were read by two teachers. 60 are new (or fewer, if the pool has some of them), and one teacher is.
    pool, added = (set(load_texts(path).table["text"]) for path in (_pool(run), more))
    fresh, all_texts = len(added - pool), len(added | pool)
    passes = 1 + 4
    tests = 40
    for name, reads in {"billing": fresh * passes, "delivery": fresh * passes, "account": all_texts * passes}.items():
        old = units(run, name) if name != "account" else {}
        now = units(new, name)
        assert {unit: inode for unit, inode in now.items() if unit in old} == old, "linked, not computed again"
        assert len(now) > len(old)
        assert f"teacher {name}: {reads:,} reads" in result.err, result.err
    assert f"teacher account: {tests * passes:,} reads" in result.err, "the new teacher alone reads the test texts"
    assert f"teacher billing: {tests * passes:,} reads" not in result.err
    assert "5 of 6 labels were known to it" in result.err
    recipe = alloykit.Run(new).recipe
    assert [teacher.name for teacher in recipe.teachers] == ["billing", "delivery", "account"]
    assert recipe.student is not None
    assert recipe.student.continues == str(run / "student")
    assert alloykit.Run(new).metrics["texts"]["used"] == 300 + 60  # type: ignore[index]
    _changes_are_right(run, new, result)
    again = files_of(new)
    assert call("update", run, "--add-teacher", third, "--add-texts", more, *QUICK).code == 0
    assert {k for k, v in files_of(new).items() if again[k] != v} <= {"run.log", "metrics.json", "environment.json", "recipe.yaml", "answers.safetensors", "changes.json", "changes.html", "report.html", "student/README.md"}  # fmt: skip


def _pool(run: Path) -> Path:
    texts = alloykit.Run(run).recipe.texts
    return Path(texts.path)  # type: ignore[union-attr,arg-type]


def _changes_are_right(run: Path, new: Path, result: Result) -> None:
    """changes.json against predictions of both students, by hand."""
    found = json.loads((new / "changes.json").read_text())
    data = load_texts(alloykit.Run(run).recipe.evaluate.data)  # type: ignore[union-attr]
    answers = [[a["label"] for a in alloykit.Run(r).predict(data.table["text"])] for r in (run, new)]
    for label in toy.LABELS:
        mine = [i for i, name in enumerate(data.table["label"]) if name == label]
        for key, said in zip(("old", "new"), answers, strict=True):
            assert found["labels"][label][key] == pytest.approx(sum(said[i] == label for i in mine) / len(mine))
    assert found["untested"] == ["login"]
    assert "Accuracy " in result.out
    assert "changes: " in result.out
    page = (new / "changes.html").read_text()
    assert "teachers.3.model" in page, "the recipes' differences"
    assert "<script" not in page


def test_a_killed_update_goes_on_with_the_same_result(
    run: Path, third: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {
        "replace_teachers": {"delivery": third},
        "override": ["training.epochs=0.2", "evaluate=null"],
    }
    whole = alloykit.update(run, output=tmp_path / "whole", **given)
    linked = [0]

    def killed(path: Path, target: Path) -> None:
        linked[0] += 1
        if linked[0] > 5:
            raise KeyboardInterrupt
        os.link(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(link_outputs.os, "link", killed)
        with pytest.raises(KeyboardInterrupt):
            alloykit.update(run, output=tmp_path / "killed", **given)
    with monkeypatch.context() as patch:
        patch.setattr(amalgamation, "make_student", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            alloykit.update(run, output=tmp_path / "killed", **given)
    again = alloykit.update(run, output=tmp_path / "killed", **given)
    assert student(again.folder) == student(whole.folder)
    assert again.metrics["labels"] == ["refund", "charge", "invoice", "login"]  # type: ignore[index]
    assert units(run, "billing") == units(again.folder, "billing")
    assert not set(units(run, "delivery").values()) & set(units(again.folder, "delivery").values())
    found = json.loads((again.folder / "changes.json").read_text())
    assert found["on"] == "pool"
    assert found["labels"]["track"]["change"] == "no longer a label"
    assert sum(row["old"] for row in found["labels"].values()) == found["texts"] == 300


def test_labelled_texts_are_learned(run: Path, tmp_path: Path, call: Call) -> None:
    rows = [(text, label, label, "0.5", "why") for text, label in toy.examples(10, seed=31)]
    header = ("text", "label", "suggested", "probability", "why")
    path = write_csv(tmp_path / "a.csv", [*rows, ("not labelled", "", "refund", "0.5", "why")], header)
    result = call("update", run, "--labelled", path, *QUICK, "-o", "evaluate=null")
    assert result.code == 0, result.err
    assert "1 missing label" in result.err
    later = write_csv(tmp_path / "b.csv", rows[:4], header)
    changes = Changes(labelled=(str(later), str(path)))
    block = updated_recipe(alloykit.Run(tmp_path / "run-2"), changes, tmp_path / "run-3").labelled
    assert block is not None
    with pytest.warns(alloykit.AlloyWarning, match="1 missing label"):
        found = load_texts(block.data, want_labels=True)  # type: ignore[arg-type]
    assert found.table["text"] == [row[0] for row in [*rows, *rows[:4], *rows]]


def test_the_next_folder_counts() -> None:
    names = {"runs/tickets": "runs/tickets-2", "runs/tickets-2": "runs/tickets-3", "a-9/b-19": "a-9/b-20"}
    assert {name: str(next_folder(Path(name))) for name in names} == names


BAD = {
    "nothing to change": ((), ("something to change", "--add-teacher")),
    "an unknown teacher": (("--remove-teacher", "bilingg"), ("a teacher of the run", "'billing'")),
    "no model": (("--replace-teacher", "billing"), ("billing=teachers/billing-2",)),
    "the same folder": (("--add-texts", "more.csv", "--output", "RUN"), ("another folder",)),
    "test texts of a removed teacher": (("--remove-teacher", "delivery"), ("'damaged', 'track'", "evaluate=null")),
    "missing texts": (("--add-texts", "nowhere.csv"), ("nowhere.csv",)),
    "a student of other layers": (("--add-texts", "more.csv", "-o", "student.layers=1"), ("1 layers", "2 layers")),
}


@pytest.mark.parametrize("name", BAD)
def test_update_refuses(
    name: str, finished: Finished, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "more.csv", [("a text",)])
    arguments, words = BAD[name]
    output = () if "--output" in arguments else ("--output", tmp_path / "new")
    result = call("update", finished.folder, *(finished.folder if a == "RUN" else a for a in arguments), *output)
    collect(f"update: {name}", result)
    result.refused(*words)
    assert not (tmp_path / "new").exists()
