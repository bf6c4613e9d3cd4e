"""`alloykit doctor`: what it says of a healthy recipe, of a sick one, and of the machine."""

from __future__ import annotations

import json
import shutil
import time
import tomllib
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from commandline import Call, files_of, write_recipe
from hub_standin import hub_standin
from huggingface_hub import constants

import alloykit
from alloykit.planning import examine_machine, examine_recipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe

Usage = namedtuple("Usage", "total used free")
TIMED = examine_machine._product_seconds


@pytest.fixture(autouse=True)
def fast_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed: how fast a small product is differs from run to run."""
    monkeypatch.setattr(examine_machine, "_product_seconds", {torch.float32: 2.0, torch.bfloat16: 1.0}.__getitem__)


def named(found: dict[str, Any], name: str) -> dict[str, Any]:
    (check,) = (check for check in found["checks"] if check["name"] == name)
    return check


def test_the_machine_alone(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("doctor")
    assert result.code == 0
    assert result.out.endswith("\ncan run\n")
    for start in (
        "versions: Python 3.",
        "device: ",
        "threads: torch uses ",
        "number formats: bfloat16 is ",
        "trackers: ",
    ):
        assert f"\n{start}" in f"\n{result.out}"
    assert "extra demo: installed: the encoder bundled:minilm" in result.out
    assert "note: hub: not asked (HF_HUB_OFFLINE)" in result.out
    assert not list(tmp_path.iterdir())


def test_bfloat16_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with instructions for it that is slower with it gets a hint."""
    monkeypatch.setattr(examine_machine, "native_bfloat16", lambda device: True)
    found = examine_machine._formats()
    assert (found.level, found.hint) == ("ok", "")
    assert found.found == "bfloat16 is 2 times as fast as float32 on this CPU (a product of matrices), and is used"
    monkeypatch.setattr(examine_machine, "_product_seconds", {torch.float32: 1.0, torch.bfloat16: 2.0}.__getitem__)
    found = examine_machine._formats()
    assert found.level == "note"
    assert "0.5 times as fast" in found.found
    assert "`precision: float32`" in found.hint
    monkeypatch.setattr(examine_machine, "native_bfloat16", lambda device: False)
    assert "so float32 is used" in examine_machine._formats().found


def test_a_cpu_that_emulates_bfloat16_is_not_said_to_compute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine_machine, "_product_seconds", {torch.float32: 1.0, torch.bfloat16: 25.0}.__getitem__)
    assert examine_machine._formats().found.startswith("bfloat16 is 0.04 times as fast")


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(examine_machine.GIVES) == set(project["optional-dependencies"]) - {"optional"}


def test_products_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine_machine, "SIZE", 32)
    assert all(0 < TIMED(dtype) < 60 for dtype in (torch.float32, torch.bfloat16))


def test_a_healthy_recipe(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    path = write_recipe(tmp_path, recipe)
    before = files_of(tmp_path)
    result = call("doctor", path, "--no-probe", "--json")
    assert result.code == 0, result
    found = json.loads(result.out)
    assert found["can_run"]
    assert found["seconds"] is None
    assert named(found, "teacher billing")["level"] == "ok"
    assert "3 labels (refund, charge, invoice)" in named(found, "teacher billing")["found"]
    assert "reads 32 tokens" in named(found, "teacher billing")["found"]
    assert named(found, "texts")["found"].startswith("80 texts, ")
    assert [named(found, f"text {i}")["found"] for i in range(3)] == [t[:80] for t in tiny.texts(80)[:3]]
    assert files_of(tmp_path) == before, "it writes nothing"


def test_everything_that_is_wrong_is_said_at_once(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    anonymous = tiny.classifier(tmp_path / "anonymous", ["LABEL_0", "LABEL_1"])
    pickled = shutil.copytree(recipe["teachers"][0], tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    changed = {"teachers": [*recipe["teachers"], str(anonymous), str(pickled), str(tmp_path / "nowhere")]}
    changed |= {"texts": {"path": recipe["texts"], "text": "body"}}
    result = call("doctor", write_recipe(tmp_path, recipe | changed))
    assert result.code == 2
    lines = result.out.splitlines()
    assert lines[-1] == "cannot run: 4 errors"
    errors = [line for line in lines if line.startswith("error: ")]
    for start in (
        "error: teacher anonymous: expected real label names",
        "error: teacher pickled: expected weights in safetensors",
        "error: teacher nowhere: expected a model folder",
        "error: texts: expected",
    ):
        (line,) = (line for line in errors if line.startswith(start))
        assert lines[lines.index(line) + 1].startswith("  "), "what to do"
    assert any(line.startswith("teacher billing: 3 labels") for line in lines)


@pytest.mark.slow
def test_what_is_slow_and_what_to_do(recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine_recipe, "SLOW", 0.0)
    changed = {"method": {"name": "muka", "passes": 512}, "training": recipe["training"] | {"max_length": 100}}
    found = alloykit.doctor(write_recipe(tmp_path, recipe | changed))
    assert found["can_run"]
    texts = int(named(found, "texts")["found"].split(", ")[1].split()[0])
    assert named(found, "time of billing")["found"].startswith(f"{texts} texts × 513 reads, ")
    assert "because of Monte-Carlo passes. Method alloy needs none." in named(found, "time")["hint"]
    assert found["seconds"] > 0
    assert named(found, "teacher billing")["level"] == "note"
    assert "reads 64 tokens" in named(found, "teacher billing")["found"]
    assert "`max_length` is 100" in named(found, "teacher billing")["hint"]


@pytest.mark.parametrize(
    ("timed", "sweep", "training", "said"),
    [
        (("a",), 90.0, 20.0, "`alloykit sweep --part 1/4`"),
        (("a", "b"), 90.0, 20.0, "Teacher 'a' needs most of the time."),
        ((), 0.0, 80.0, "The student learns for 3 epochs."),
        ((), 0.0, None, "A GPU is many times as fast."),
    ],
    ids=["a service and a model", "a service and two models", "services only", "services and no student"],
)
def test_services_are_not_timed(
    timed: tuple[str, ...], sweep: float, training: float | None, said: str, recipe: dict[str, Any]
) -> None:
    service = {"name": "s", "reads": 10, "requests": 10}
    spent = {"a": 0.9 * sweep, "b": 0.1 * sweep}
    models = [{"name": n, "reads": 10, "seconds": spent[n], "tokens_each": 3.0, "reads_per_second": 1.0} for n in timed]
    plan = {
        "seconds": {"sweep": sweep, "text_states": 70.0, "training": training or 0.0},
        "texts": {"distinct": 10},
        "teachers": [service, *models],
        "student_training": None if training is None else {"epochs": 3.0},
    }
    *of_teachers, whole = examine_recipe._time(parse(recipe | {"device": "cpu"}, Recipe), plan)
    assert [check.name for check in of_teachers] == [f"time of {name}" for name in timed]
    assert said in whole.hint
    assert ("needs most of the time" in whole.hint) == (len(timed) == 2)


def test_a_recipe_that_cannot_be_read(tmp_path: Path, call: Call) -> None:
    result = call("doctor", tmp_path / "none.yaml")
    assert result.code == 2
    assert "error: recipe: expected a recipe file" in result.out
    assert "\nversions: " in f"\n{result.out}", "the machine is looked at all the same"


def test_a_full_disk_and_a_folder_without_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 5, 5 * 10**8))
    (tmp_path / "file").touch()
    checks = {
        c.name: c for c in examine_machine.examine_machine({"a": tmp_path / "new", "b": tmp_path / "file" / "x"}, 2e9)
    }
    assert (checks["a"].level, checks["b"].level) == ("note", "error")
    assert "0.5 GB free" in checks["a"].found
    assert "about 2.0 GB are needed" in checks["a"].found


def test_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.perf_counter()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with hub_standin() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        assert examine_machine._hub().found.startswith("can be reached; ")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert examine_machine._hub().level == "note"
    assert time.perf_counter() - begun < 5


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert "OMP_NUM_THREADS" in examine_machine._threads().hint
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert examine_machine._threads().level == "ok"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 16)
    assert "OMP_NUM_THREADS=8" in examine_machine._threads().hint
