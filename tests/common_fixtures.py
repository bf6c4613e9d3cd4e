"""Fixtures of all tests: tiny models, the command line in this process, and one finished run that everybody reads."""

from __future__ import annotations

import csv
import functools
import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
import toy
import typer.main
from commandline import Call, Finished, Result, Taught, run_here, write_recipe
from shared import once, whole_run

torch.set_num_threads(1)
os.fsync = lambda _: None  # the tests stop processes, never the machine: they need not wait for the disk
gc.collect = lambda *_: 0  # after each sweep and training; it would look through all the imported modules each time
typer.main.get_command = functools.cache(typer.main.get_command)  # the commands are compiled once

BILLING = ("refund", "charge", "invoice")
DELIVERY = ("track", "damaged")
DRAWN = ("test_report.py",)  # compares pages with those of the finished run, which has its pictures


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny models: teachers `billing` (BERT) and `delivery` (RoBERTa), and `encoder`. Read them, or copy them."""

    def make(root: Path) -> None:
        tiny.classifier(root / "billing", BILLING, "bert", seed=1)
        tiny.classifier(root / "delivery", DELIVERY, "roberta", seed=2)
        tiny.encoder(root / "encoder", "bert", seed=3)

    root = once(whole_run(tmp_path_factory), "models", make)
    return {name: root / name for name in ("billing", "delivery", "encoder")}


@pytest.fixture
def recipe(models: dict[str, Path], tmp_path: Path) -> dict[str, object]:
    """A small recipe as a dictionary; its texts are in a csv file, its output does not exist yet."""
    texts = tmp_path / "texts.csv"
    with texts.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([t] for t in tiny.texts(80))
    test = tmp_path / "test.csv"
    with test.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        labels = [*BILLING, *DELIVERY]
        writer.writerows([t, labels[i % 5]] for i, t in enumerate(tiny.texts(30, seed=9)))
    return {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "texts": str(texts),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "muka", "passes": 4},
        "training": {"epochs": 2, "learning_rate": 1e-3, "batch_size": 16, "max_length": 32},
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "output": str(tmp_path / "run"),
    }


@pytest.fixture
def call() -> Call:
    """Run `alloykit …` in this process; an exception that a user would see as a traceback fails the test."""
    return run_here


def _teaching(root: Path) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "model": {"model": str(root / "encoder"), "layers": 2},
            "data": {"path": str(root / "train.csv"), "label": "label"},
            "labels": list(labels),
            "training": {"epochs": 8, "learning_rate": 0.01, "batch_size": 16, "max_length": 32},
            "output": str(root / name),
        }
        for name, labels in toy.TEAMS.items()
    }


def _teach(root: Path) -> None:
    tiny.encoder(root / "encoder", logit_scale=0.3)
    toy.labelled(root / "train.csv", 300)
    recipes = _teaching(root)
    first, _ = (run_here("teach", write_recipe(root, values, f"{name}.yaml")) for name, values in recipes.items())
    (root / "result.json").write_text(json.dumps(vars(first)))


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """Two teachers of the toy problem, each made by `alloykit teach`; what it said of `billing`."""
    root = once(whole_run(tmp_path_factory), "taught", _teach)
    teachers = {name: root / name for name in toy.TEAMS}
    said = Result(**json.loads((root / "result.json").read_text()))
    return Taught(root / "encoder", root / "train.csv", teachers, _teaching(root)["billing"], said)


@pytest.fixture(scope="session")
def finished(taught: Taught, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Both teachers, melted by a real `alloykit amalgamate`, which sees no label but those of the test texts."""

    def amalgamate(root: Path) -> None:
        recipe = {
            "teachers": [str(path) for path in taught.teachers.values()],
            "texts": str(taught.data),
            "student": {"model": str(taught.encoder), "layers": 2},
            "method": {"name": "muka", "passes": 4},
            "training": {"epochs": 8, "learning_rate": 0.01, "batch_size": 16, "max_length": 32},
            "evaluate": {"data": {"path": str(toy.labelled(root / "test.csv", 40, seed=5)), "label": "label"}},
            "output": str(root / "run"),
        }
        result = run_here("amalgamate", write_recipe(root, recipe))
        (root / "result.json").write_text(json.dumps(vars(result)))

    root = once(whole_run(tmp_path_factory), "finished", amalgamate)
    said = Result(**json.loads((root / "result.json").read_text()))
    return Finished(root / "run", root / "recipe.yaml", root / "test.csv", said)


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spare runs of tiny models what takes most of their time: pictures, where no test looks at them, and garbage collection, which
    would look through all the imported modules."""
    if request.path.parent.name not in ("reporting", "browser") and request.path.name not in DRAWN:
        monkeypatch.setattr("alloykit.reporting.figures.draw", lambda *_: None)
        monkeypatch.setattr("alloykit.reporting.figures.inline", lambda *_: "<svg></svg>")
    gc.freeze()
    yield
    gc.unfreeze()
