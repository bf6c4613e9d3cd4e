"""Every command once as a real process: exit codes, what goes to which stream, and how fast help answers."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commandline import COMMAND, ENVIRONMENT, Call, Finished, execute, files_of, write_recipe
from toy import LABELS

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
    assert "embedded example" in done.stdout


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


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "demo"])
def test_wrong_usage_of_every_command_in_a_process_of_its_own(command: str) -> None:
    """Answered before torch is imported, so this is quick."""
    result = execute(command, "--nope")
    assert (result.code, result.out) == (2, "")
    assert "No such option" in result.err
    assert "--nope" in result.err
    assert "Traceback" not in result.err


def test_amalgamate_in_a_process_of_its_own(finished: Finished) -> None:
    result = finished.result
    assert result.code == 0, result.err
    assert result.out.splitlines()[-2:] == [
        f"student: {finished.folder / 'student'}",
        f"report: {finished.folder / 'report.html'}",
    ]
    assert any("student" in line for line in result.out.splitlines()[:-1])
    assert "sweep: 2 teachers × 300 texts × (1 plain + 4 Monte-Carlo passes)" in result.err
    assert "Warning" not in result.err
    assert "Loading weights" not in result.err
    assert {p.name for p in finished.folder.iterdir()} >= {
        "student", "metrics.json", "recipe.yaml", "environment.json", "cache", "training.json",
    }  # fmt: skip


def test_the_run_folder_says_what_made_it(finished: Finished) -> None:
    recipe = yaml.safe_load((finished.folder / "recipe.yaml").read_text())
    assert recipe["training"]["warmup"] == 0.1, "defaults are written out"
    assert recipe["method"]["temperature"] == 0.2
    assert [t["name"] for t in recipe["teachers"]] == ["billing", "delivery"]
    metrics = json.loads((finished.folder / "metrics.json").read_text())
    assert metrics["labels"] == list(LABELS)
    assert metrics["texts"]["used"] == 300
    environment = json.loads((finished.folder / "environment.json").read_text())
    assert environment["packages"]["torch"].startswith("2.")


def test_the_resolved_recipe_is_a_recipe_that_finds_everything_done(finished: Finished, call: Call) -> None:
    student = files_of(finished.folder / "student")
    result = call("amalgamate", finished.folder / "recipe.yaml")
    assert result.code == 0, result.err
    assert files_of(finished.folder / "student") == student
    assert " steps in " not in result.err


def test_amalgamate_refuses_in_a_process_of_its_own(recipe: dict[str, object], tmp_path: Path) -> None:
    result = execute("amalgamate", write_recipe(tmp_path, recipe | {"trainig": {}}))
    result.refused("trainig", "did you mean 'training'")
    assert result.err == result.message + "\n", "nothing but the message"
    assert not (tmp_path / "run").exists()


def test_sweep_in_parts_then_amalgamate_from_the_shared_knowledge(
    recipe: dict[str, object], tmp_path: Path, call: Call
) -> None:
    path, shared = write_recipe(tmp_path, recipe), tmp_path / "shared"
    first = execute("sweep", path, "--part", "1/2", "--cache", shared)
    assert (first.code, first.out) == (0, ""), first.err
    assert f"cached outputs are in {shared}" in first.err
    assert call("sweep", path, "--part", "2/2", "--cache", shared).code == 0
    for log in ("run-1-of-2.log", "run-2-of-2.log"):
        assert (shared / log).read_text().endswith(f" cached outputs are in {shared}\n")
    assert not (tmp_path / "run").exists()
    before = files_of(shared)
    del recipe["evaluate"]
    result = call("amalgamate", write_recipe(tmp_path, recipe), "--cache", shared)
    assert result.code == 0, result.err
    assert "reads in" not in result.err, "no teacher read anything again"
    assert files_of(shared) == before
    assert not (tmp_path / "run" / "cache").exists()


def test_plan_writes_nothing(recipe: dict[str, object], tmp_path: Path) -> None:
    path = write_recipe(tmp_path, recipe)
    before = files_of(tmp_path)
    result = execute("plan", path, "--json", HF_HOME=str(tmp_path / "hub"))
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["labels"] == list(LABELS)
    assert found["texts"]["used"] == 80
    assert [t["reads"] for t in found["teachers"]] == [80 * (1 + 4)] * 2
    assert all(t["seconds"] > 0 and t["reads_per_second"] > 0 for t in found["teachers"])
    assert 3 < found["teachers"][0]["tokens_each"] < 32
    assert found["seconds"]["sweep"] == pytest.approx(sum(t["seconds"] for t in found["teachers"]), abs=0.002)
    assert found["output"] == str(tmp_path / "run")
    assert {n: f for n, f in files_of(tmp_path).items() if not n.startswith("hub")} == before
    assert not (tmp_path / "run").exists()


def test_plan_without_a_probe_loads_no_weights(
    recipe: dict[str, object], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "alloykit.teachers.hugging_face.Teacher.load", lambda *_, **__: pytest.fail("weights were loaded")
    )
    monkeypatch.setattr("alloykit.stages.probe.build_student", lambda *_, **__: pytest.fail("weights were loaded"))
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


def test_methods_lists_all_of_them_and_shows_one(call: Call) -> None:
    from alloykit.methods.registry import methods

    table, as_json = call("methods"), call("methods", "--json")
    assert "without `method:`, it is alloy" in " ".join(table.out.split())
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


def test_methods_in_a_process_of_its_own_whose_reader_leaves() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(COMMAND)} methods --json | head -n 3"],
        capture_output=True, text=True, timeout=60, env=os.environ | ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == "["
    assert '"name": "muka"' in done.stdout
    assert done.stderr == ""
