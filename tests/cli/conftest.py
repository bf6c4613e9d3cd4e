"""Fixtures of the command line: calls in this process, and one finished run that everybody reads."""

from __future__ import annotations

import io
import os
import sys

import pytest
import tiny
import toy
from commandline import Call, Finished, Result, Taught, execute, write_recipe

from alloykit.cli import main as cli
from alloykit.recipe.models import TeachRecipe, parse
from alloykit.stages.teach_recipes import teach_recipe


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `alloykit …` in this process; an exception that a user would see as a traceback fails the test."""

    def run(*arguments: object, stdin: str | bytes = "") -> Result:
        for name in ("HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_VERBOSITY"):  # main() sets them; restored afterwards
            monkeypatch.setenv(name, os.environ.get(name, "1" if "BARS" in name else "error"))
        monkeypatch.setattr(sys, "argv", ["alloykit", *map(str, arguments)])
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Result(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """Two teachers of the toy problem: `billing` made by a real `alloykit teach`, `delivery` in this process."""
    root = tmp_path_factory.mktemp("taught")
    encoder = tiny.encoder(root / "encoder", logit_scale=0.3)
    data = toy.labelled(root / "train.csv", 300)
    recipes = {}
    for name, labels in toy.TEAMS.items():
        recipes[name] = {
            "model": {"model": str(encoder), "layers": 2},
            "data": {"path": str(data), "label": "label"},
            "labels": list(labels),
            "training": {"epochs": 8, "learning_rate": 0.01, "batch_size": 16, "max_length": 32},
            "output": str(root / name),
        }
    result = execute("teach", write_recipe(root, recipes["billing"], "billing.yaml"))
    teach_recipe(parse(recipes["delivery"], TeachRecipe))
    return Taught(encoder, data, {name: root / name for name in recipes}, recipes["billing"], result)


@pytest.fixture(scope="session")
def finished(taught: Taught, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Both teachers, melted by a real `alloykit amalgamate`, which sees no label but those of the test texts."""
    root = tmp_path_factory.mktemp("finished")
    test = toy.labelled(root / "test.csv", 40, seed=5)
    recipe = {
        "teachers": [str(path) for path in taught.teachers.values()],
        "texts": str(taught.data),
        "student": {"model": str(taught.encoder), "layers": 2},
        "method": {"name": "muka", "passes": 4},
        "training": {"epochs": 8, "learning_rate": 0.01, "batch_size": 16, "max_length": 32},
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "output": str(root / "run"),
    }
    path = write_recipe(root, recipe)
    return Finished(root / "run", path, test, execute("amalgamate", path))
