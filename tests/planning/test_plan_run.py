"""`plan`: what a run will do and how long it takes, and nothing is written."""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import tiny
from commandline import Call, Finished, files_of, write_csv, write_recipe
from toy import LABELS

import alloykit
from alloykit.planning import plan_run
from alloykit.stages import prepared


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
        "alloykit.teachers.hugging_face.load_classifier", lambda *_, **__: pytest.fail("weights were loaded")
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


def test_plan_and_sweep_take_the_arguments_of_amalgamate(models: dict[str, Path], tmp_path: Path) -> None:
    """With texts in memory, too."""
    names = {f: set(signature(f).parameters) for f in (alloykit.amalgamate, alloykit.plan, alloykit.sweep)}
    assert names[alloykit.plan] - {"probe"} == names[alloykit.amalgamate] - {"cache", "overwrite"}
    assert names[alloykit.sweep] - {"part"} == names[alloykit.amalgamate] - {"overwrite"}
    asked, planned = (set(signature(f).parameters) for f in (alloykit.amalgamate_questions, alloykit.plan_questions))
    assert planned - {"probe"} == asked - {"cache", "overwrite"}
    labelled = [{"text": text, "label": LABELS[i % 5]} for i, text in enumerate(tiny.texts(20, seed=9))]
    given: dict[str, Any] = {
        "teachers": [models["billing"], models["delivery"]],
        "texts": tiny.texts(12),
        "student": models["encoder"],
        "method": "vanilla_kd",
        "output": tmp_path / "run",
        "training": {"max_length": 16, "select": "labelled"},
        **dict.fromkeys(("evaluate", "validation", "labelled"), labelled),
    }
    assert alloykit.plan(**given, probe=False)["texts"]["used"] == 12
    assert not (tmp_path / "run").exists()
    assert Path(alloykit.sweep(**given)).is_dir()


@pytest.mark.slow
def test_a_recipe_of_distill_without_a_method_gets_a_hint(models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    """Its default is another one there. Only the command says which of the two a recipe is for."""
    rows = [(text, "refund") for text in tiny.texts(12)]
    texts = {"path": str(write_csv(tmp_path / "t.csv", rows, ("text", "label"))), "label": "label"}
    values = {"teachers": [str(models["billing"])] * 2, "texts": texts, "student": str(models["encoder"])}
    values |= {"output": str(tmp_path / "run"), "training": {"max_length": 16}}
    path, hint = (
        write_recipe(tmp_path, values),
        "For `alloykit distill` write its method into the recipe: `method: mt_bert`",
    )
    assert f"warning: this is for `alloykit amalgamate`, whose method is alloy if the recipe names none. {hint}" in (
        call("plan", path, "--no-probe").out
    )
    assert hint in call("doctor", path, "--no-probe").out
    assert hint in call("sweep", path).err
    for other in (["-o", "method=alloy"], ["-o", "texts.label=null"], ["-o", f"teachers.1={models['delivery']}"]):
        assert "`alloykit distill`" not in call("plan", path, "--no-probe", *other).out


def test_the_bytes_are_those_of_the_shards_that_a_run_writes(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated texts count for the size of a shard, but not for the number of shards."""
    monkeypatch.setitem(prepared.SHARD_ROWS_BY_DEVICE, "cpu", 4)
    monkeypatch.setattr(prepared, "MOST_SHARDS", 2)
    monkeypatch.setattr(plan_run, "index_bytes", lambda shards, rows: seen.append((shards, rows)) or 0)
    seen: list[tuple[int, int]] = []
    teachers, texts = [models["billing"], models["delivery"]], tiny.texts(8) * 2
    given: dict[str, Any] = {"method": "ensemble", "output": tmp_path / "run", "device": "cpu"}
    alloykit.plan(teachers, texts, **given, probe=False)
    written = Path(alloykit.sweep(teachers, texts, **given))
    assert seen == [(len(list((written / "shards").rglob("*.safetensors"))), 8)] == [(1, 8)]


def test_an_output_that_the_run_would_refuse(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    asked = {key: recipe[key] for key in ("texts", "student")}
    several = asked | {"questions": {"one": {"teachers": recipe["teachers"]}, "two": {"teachers": recipe["teachers"]}}}
    for values in (recipe, several):
        for place, words in ((tmp_path / "file", "the file"), (tmp_path / "model", "with other files"), ("/", "with other files")):  # fmt: skip
            path = write_recipe(tmp_path, values | {"output": str(place)})
            call("plan", path, "--no-probe").refused("as `output`", words, str(place))


@pytest.mark.slow
def test_results_that_a_run_would_not_replace(finished: Finished, call: Call) -> None:
    same = call("plan", finished.recipe, "--no-probe")
    assert same.code == 0
    assert "refused" not in same.err
    other = call("plan", finished.recipe, "--no-probe", "-o", "training.epochs=9")
    assert other.code == 0
    for words in ("The run will be refused", "now 9.0", "--overwrite"):
        assert words in other.err
