"""A run folder may be somebody else's: it alone decides neither where texts go nor which key is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commandline import Call, write_csv, write_recipe

import alloykit
from alloykit import AlloyError
from alloykit.finished_runs.explain_text import TextExplainer
from alloykit.finished_runs.update_recipe import Changes
from alloykit.finished_runs.update_run import update_run
from alloykit.run_folder.run_folder import RunFolder

URL = "http://127.0.0.1:9/predict"
SAID = ("`teachers.0` asks", URL, "the key in $SOME_KEY", "--trust-url", "trust_url=True")


@pytest.fixture
def run(tmp_path: Path, models: dict[str, Path]) -> Path:
    """A folder with a recipe, which is read before anything else of a run."""
    folder = tmp_path / "run"
    folder.mkdir()
    service = {"url": URL, "format": "tei", "labels": ["bug", "login"], "key_env": "SOME_KEY", "name": "far"}
    values = {"teachers": [service, str(models["billing"])], "texts": str(write_csv(tmp_path / "t.csv", [["a text"]]))}
    values |= {"student": str(models["encoder"]), "output": str(folder)}
    write_recipe(folder, values)
    return folder


def test_evaluate_asks_no_service_without_the_flag(run: Path, tmp_path: Path, call: Call) -> None:
    test = write_csv(tmp_path / "test.csv", [("a text", "bug")], ("text", "label"))
    call("evaluate", run, "--data", test).refused(*SAID)
    with pytest.raises(AlloyError, match="--trust-url"):
        alloykit.Run(run).evaluate(test)
    call("evaluate", run, "--data", test, "--trust-url").refused("a finished run")


def test_the_page_of_the_server_asks_no_service_without_the_flag(run: Path) -> None:
    with pytest.raises(AlloyError, match="--trust-url"):
        TextExplainer(RunFolder(run), teachers=True)
    for options in ({"teachers": True, "trust_url": True}, {"teachers": False}):
        with pytest.raises(AlloyError, match="a finished run"):
            TextExplainer(RunFolder(run), **options)


def test_update_asks_no_service_that_stays_without_the_flag(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "metrics", {"labels": []})
    with pytest.raises(AlloyError, match="--trust-url"):
        update_run(RunFolder(run), Changes(overrides=("training.epochs=1",)))


def on_a_cluster(run: Path, models: dict[str, Path], address: str | None) -> None:
    values = yaml.safe_load((run / "recipe.yaml").read_text())
    values |= {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "engine": {"name": "ray", "address": address},
    }
    write_recipe(run, values)


def test_a_stranger_s_cluster_is_not_asked_without_the_flag(
    run: Path, models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would get the texts, and Ray unpickles what it answers."""
    on_a_cluster(run, models, "ray://203.0.113.1:10001")
    test = write_csv(tmp_path / "test.csv", [("a text", "bug")], ("text", "label"))
    call("evaluate", run, "--data", test).refused("address: ray://203.0.113.1:10001", "--trust-url")
    call("evaluate", run, "--data", test, "--trust-url").refused("a finished run")
    call("evaluate", run, "--data", test, "--engine", "ray").refused("address: ray://203.0.113.1:10001", "--trust-url")
    call("evaluate", run, "--data", test, "--engine", "local").refused("a finished run")
    monkeypatch.setattr(RunFolder, "metrics", {"labels": []})
    for changed in ("training.epochs=1", "engine.workers=1"):
        with pytest.raises(AlloyError, match="--trust-url"):
            update_run(RunFolder(run), Changes(overrides=(changed,)))
    monkeypatch.undo()
    on_a_cluster(run, models, "auto")
    call("evaluate", run, "--data", test).refused("a finished run")
