"""`plan`: what a run will do and how long it takes, and nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tiny
from commandline import Call, files_of, write_recipe
from toy import LABELS


def test_plan_writes_nothing(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    path = write_recipe(tmp_path, recipe)
    before = files_of(tmp_path)
    result = call("plan", path, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["labels"] == list(LABELS)
    assert found["texts"]["used"] == 80
    assert [t["reads"] for t in found["teachers"]] == [80 * (1 + 4)] * 2
    assert all(t["seconds"] > 0 and t["reads_per_second"] > 0 for t in found["teachers"])
    assert 3 < found["teachers"][0]["tokens_each"] < 32
    assert found["seconds"]["sweep"] == pytest.approx(sum(t["seconds"] for t in found["teachers"]), abs=0.002)
    assert found["output"] == str(tmp_path / "run")
    assert files_of(tmp_path) == before
    assert not (tmp_path / "run").exists()


def test_plan_without_a_probe_loads_no_weights(
    recipe: dict[str, object], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "alloykit.teachers.hugging_face.HuggingFaceTeacher.load", lambda *_, **__: pytest.fail("weights were loaded")
    )
    monkeypatch.setattr("alloykit.planning.probe.build_student", lambda *_, **__: pytest.fail("weights were loaded"))
    result = call("plan", write_recipe(tmp_path, recipe), "--no-probe")
    assert result.code == 0
    assert "about" not in result.out
    assert "400 reads" in result.out


def test_plan_in_words(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    recipe["texts"] = {"path": recipe["texts"], "limit": 20}
    result = call("plan", write_recipe(tmp_path, recipe))
    assert result.code == 0
    assert "labels: 5: refund, charge, invoice, track, damaged" in result.out
    assert "teacher delivery: track, damaged: 100 reads" in result.out
    assert "texts: 20 (20 distinct)" in result.out
    assert re.search(r"in all about \d+ s \(from a probe of \d+ s on this machine\)", result.out)
    assert not (tmp_path / "run").exists()


def test_a_plan_of_many_labels_names_some(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    """Of 1,000 labels of a teacher, all of which another one shares, it names thirty; with `--json` all."""
    many = [f"intent {n}" for n in range(1000)]
    teachers = [{"model": str(tiny.classifier(tmp_path / name, many)), "name": name} for name in ("one", "two")]
    path = write_recipe(tmp_path, recipe | {"teachers": teachers, "method": "alloy", "evaluate": None})
    shown = call("plan", path, "--no-probe").out
    some = ", ".join(many[:30])
    assert f"labels: 1,000: {some} and 970 more\n" in shown
    assert f"teacher one: {some} and 970 more: 80 reads\n" in shown
    assert "  'intent 29' is shared by one, two\n  970 more labels are shared\n" in shown
    assert json.loads(call("plan", path, "--no-probe", "--json").out)["labels"] == many
