"""`--version`, `-v`, `-q`, `-o`, `python -m alloykit`, completion, and what `--help` shows as types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commandline import Call, write_recipe

import alloykit
from alloykit.cli.main import set_environment

RECIPES = ("amalgamate", "distill", "teach", "generate", "sweep", "plan")
ALL = (*RECIPES, "demo", "init", "evaluate", "report", "predict", "methods", "schema")


def test_the_version(call: Call) -> None:
    result = call("--version")
    assert (result.code, result.out) == (0, f"alloykit {alloykit.__version__}\n")


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
    ids=["nothing", "how long", "how"],
)
def test_waiting_threads_sleep_soon_unless_the_user_says_otherwise(
    given: dict[str, str], spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    set_environment()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alloykit", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == f"alloykit {alloykit.__version__}\n"


def test_completion_for_a_shell() -> None:
    completion = {"_ALLOYKIT_COMPLETE": "complete_bash", "COMP_WORDS": "alloykit am", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['alloykit']; from alloykit.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | completion,
        check=False,
    )
    assert "amalgamate" in done.stdout.split(), done


@pytest.mark.parametrize("command", [(), *((name,) for name in ALL)], ids=lambda c: "".join(c) or "alloykit")
def test_help_shows_no_python_types_and_a_text_for_every_option(command: tuple[str, ...], call: Call) -> None:
    out = call(*command, "--help").out
    for word in ("list[", "<path>", "<str>", "<bool>", "Path]"):
        assert word not in out
    options = [line.strip("│ *\n").split("  ") for line in out.splitlines() if line.strip("│ *").startswith("--")]
    assert options
    assert all(len([part for part in parts if part.strip()]) > 1 for parts in options), "every option says what it does"


@pytest.mark.parametrize("command", RECIPES)
def test_an_override_that_names_no_key_is_refused_with_the_key(command: str, call: Call, tmp_path: Path) -> None:
    path = write_recipe(tmp_path, {"output": "x"})
    call(command, path, "-o", "training.epoch=5").refused(
        "training.epoch: unknown key"
    ) if command != "generate" else None
    call(command, path, "-o", "output").refused("KEY=VALUE", "'output'", "-o training.epochs=5")


def test_overrides_change_the_plan(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    path = write_recipe(tmp_path, recipe)
    before = json.loads(call("plan", path, "--no-probe", "--json").out)
    given = ("-o", "training.epochs=7", "-o", "texts.limit=20", "-o", "method.passes=0", "-o", "teachers.1.name=other")
    after = json.loads(call("plan", path, "--no-probe", "--json", *given).out)
    assert before["student_training"]["epochs"] != 7
    assert after["student_training"]["epochs"] == 7
    assert after["texts"]["used"] == 20
    assert [(t["name"], t["reads"]) for t in after["teachers"]] == [("billing", 20), ("other", 20)]
    assert yaml.safe_load(path.read_text()) == recipe


@pytest.mark.slow
def test_quiet_prints_results_and_warnings_only(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    path = write_recipe(tmp_path, recipe | {"method": "ensemble", "student": None})
    for given in (("-q", "amalgamate", path), ("amalgamate", path, "--quiet")):
        result = call(*given)
        assert result.code == 0
        lines = result.err.splitlines()
        assert lines, "the teachers' answers are random, so there are warnings"
        assert all(line.startswith("warning: ") for line in lines)
        assert "report: " in result.out
    assert "labels: 5 from 2 teachers" in call("amalgamate", path).err, "the next command is not quiet"


def test_verbose_shows_where_an_error_arose(call: Call) -> None:
    for given in (("-v", "plan", "nowhere.yaml"), ("plan", "nowhere.yaml", "--verbose")):
        result = call(*given)
        assert result.code == 2
        assert "Traceback" in result.err
        assert result.message.startswith("error: expected a recipe file")
    assert "Traceback" not in call("plan", "nowhere.yaml").err


def test_quiet_and_verbose_exclude_each_other(call: Call) -> None:
    result = call("methods", "-q", "-v")
    assert result.code == 2
    assert "give --verbose or --quiet, not both" in result.err


def test_the_run_folder_has_a_log(recipe: dict[str, object], tmp_path: Path, call: Call) -> None:
    path = write_recipe(tmp_path, recipe | {"method": "ensemble", "student": None})
    assert call("sweep", path, "-q").code == 0
    outputs = tmp_path / "run" / "cache"
    assert (outputs / "run.log").read_text().endswith(f" cached outputs are in {outputs}\n")
    assert call("amalgamate", path, "-q").code == 0
    lines = (tmp_path / "run" / "run.log").read_text().splitlines()
    assert any(
        line.endswith("labels: 5 from 2 teachers ('refund', 'charge', 'invoice', 'track', 'damaged')") for line in lines
    )
    assert all(line[:4].isdecimal() and line[10] == " " for line in lines), "each line begins with its time"
