"""Fixtures of the command line: calls in this process, and one finished run that everybody reads."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
import tiny
from commandline import LABELS, Call, Finished, Result, execute, write_csv, write_recipe

from alloykit import cli


@pytest.fixture()
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `alloykit …` in this process; an exception that a user would see as a traceback fails the test."""

    def run(*arguments: object, stdin: str = "") -> Result:
        for name in ("HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_VERBOSITY"):  # main() sets them; restored afterwards
            monkeypatch.setenv(name, os.environ.get(name, "1" if "BARS" in name else "error"))
        monkeypatch.setattr(sys, "argv", ["alloykit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Result(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def finished(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Two teachers of disjoint labels, melted by a real `alloykit amalgamate`."""
    root = tmp_path_factory.mktemp("finished")
    texts = write_csv(root / "texts.csv", [[t] for t in tiny.texts(80)])
    rows = [(t, LABELS[i % 5]) for i, t in enumerate(tiny.texts(30, seed=9))]
    test = write_csv(root / "test.csv", rows, ("text", "label"))
    recipe = {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "texts": str(texts),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "muka", "passes": 4},
        "training": {"epochs": 8, "learning_rate": 3e-3, "batch_size": 16, "max_length": 32},
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "output": str(root / "run"),
    }
    path = write_recipe(root, recipe)
    return Finished(root / "run", path, test, execute("amalgamate", path))
