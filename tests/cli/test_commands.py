"""Help, wrong usage and lists of methods: exit codes, what goes to which stream, and how fast help answers."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import COMMAND, ENVIRONMENT, Call, Result, execute

COMMANDS = ("demo", "amalgamate", "teach", "sweep", "plan", "evaluate", "predict", "methods")


def test_help_is_fast_and_imports_no_torch() -> None:
    probe = (
        "import sys, alloykit.cli.main as cli; sys.argv = ['alloykit', '--help']\n"
        "try: cli.main()\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'sklearn', 'pydantic'} & set(sys.modules)\n"
        "print(code, sorted(heavy), file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.splitlines()[-1] == "0 []"
    assert all(command in done.stdout for command in COMMANDS)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


@pytest.mark.slow
def test_commands_that_train_nothing_start_without_scikit_learn_and_the_trainer() -> None:
    """Their imports are slow, and these commands do not need them."""
    probe = (
        "import sys\n"
        "from alloykit.commands import plan, predict, serve, sweep\n"
        "print(sorted({'sklearn', 'scipy', 'accelerate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, call: Call) -> None:
    result = call(command, "--help")
    assert result.code == 0
    assert "Usage: " in result.out
    assert command in result.out
    assert result.err == ""


def test_the_installed_command_is_this_one() -> None:
    script = Path(sys.executable).with_name("alloykit")
    done = subprocess.run([script, "demo", "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "three teams" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [("nope",), ("plan",), ("plan", "a", "b"), ("plan", "a", "--nope"), ("amalgamate", "a", "--cache"), ("evaluate",)],
)  # fmt: skip
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], call: Call) -> None:
    result = call(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert "Error: " in result.err
    assert "Traceback" not in result.err


def test_wrong_usage_that_nobody_can_be_told() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "alloykit", "nothing"]
        done = subprocess.run(command, stderr=full, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_wrong_usage_in_a_process_of_its_own() -> None:
    wrong_option(execute("plan", "--nope"))


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "demo"])
def test_wrong_usage_of_every_command(command: str, call: Call) -> None:
    wrong_option(call(command, "--nope"))


def wrong_option(result: Result) -> None:
    assert (result.code, result.out) == (2, "")
    assert "No such option" in result.err
    assert "--nope" in result.err
    assert "Traceback" not in result.err


def test_methods_lists_all_of_them_and_shows_one(call: Call) -> None:
    from alloykit.methods.registry import methods

    table, as_json = call("methods"), call("methods", "--json")
    assert "The default is alloy." in " ".join(table.out.split())
    assert table.code == as_json.code == 0
    listed = {row["name"]: row for row in json.loads(as_json.out)}
    assert set(listed) == set(methods())
    assert all(name in table.out for name in listed)
    assert listed["supervised"]["needs"] == "labels"
    for name in listed:
        assert all(option["meaning"] for option in json.loads(call("methods", name, "--json").out)["options"]), name
    shown = json.loads(call("methods", "muka", "--json").out)
    options = {option["name"]: option for option in shown["options"]}
    assert options["temperature"]["default"] == "0.2"
    assert options["mode"]["type"] == "soft | hard"
    assert all(option["meaning"] for option in shown["options"])
    assert all(name in call("methods", "muka").out for name in options)


def test_an_unknown_method_gets_a_suggestion(call: Call) -> None:
    call("methods", "mukka").refused("'mukka'", "Did you mean 'muka'", "vanilla_kd")


@pytest.mark.slow
def test_methods_in_a_process_of_its_own_whose_reader_leaves() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(COMMAND)} methods --json | head -n 3"],
        capture_output=True, text=True, timeout=60, env=os.environ | ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == "["
    assert '"name": "muka"' in done.stdout
    assert done.stderr == ""


def test_memory_that_runs_out_is_a_message(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_left(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("alloykit.recipe.questions.read_amalgamation", nothing_left)
    result = call("plan", "recipe.yaml")
    assert result.code == 2
    assert "expected more memory" in result.err
