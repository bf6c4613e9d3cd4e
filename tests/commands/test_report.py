"""`report`: one page per run, one that compares several, written again whenever somebody asks."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from commandline import Call, Finished, collect
from toy import examples, labelled

from alloykit.recipe.read_recipe import read_recipe
from alloykit.recipe.recipe import Recipe
from alloykit.stages.amalgamation import run_recipe

STUDENT = "student/README.md"


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    """A copy, because reports are written into the run."""
    return shutil.copytree(finished.folder, tmp_path / "copy", copy_function=shutil.copy2)


def test_amalgamate_leaves_a_report_and_a_card(finished: Finished) -> None:
    page = finished.folder / "report.html"
    assert finished.result.out.splitlines()[-1] == f"report: {page}"
    metrics = json.loads((finished.folder / "metrics.json").read_text())
    accuracy = f"{100 * metrics['evaluation']['scores']['student']['accuracy']:.1f}"
    assert f"The accuracy of the student is {accuracy}\u00a0% on 40 labelled texts" in page.read_text(encoding="utf-8")
    card = (finished.folder / STUDENT).read_text(encoding="utf-8")
    assert card.startswith("---\n")
    assert f"| student | {accuracy} %" in card


@pytest.mark.slow
def test_report_writes_page_and_card_again(finished: Finished, run: Path, call: Call) -> None:
    """Word for word as `amalgamate` left them, but for the run's name, which is where it lies."""
    (run / "report.html").unlink()
    (run / STUDENT).write_text("old")
    result = call("report", run)
    assert result.code == 0, result.err
    assert result.out == f"report: {run / 'report.html'}\n"
    old, new = finished.folder.name, run.name
    for name in ("report.html", STUDENT):
        before = (finished.folder / name).read_text(encoding="utf-8")
        at, times = ("(?<=Report: )%s", 0) if name == "report.html" else (r"\b%s\b(?=[:\n])", 2)
        assert (run / name).read_text(encoding="utf-8") == re.sub(at % old, new, before, count=times), name
    assert (run / "metrics.json").read_bytes() == (finished.folder / "metrics.json").read_bytes()


@pytest.mark.slow
def test_a_run_without_its_report_gets_it_from_the_next_call(run: Path) -> None:
    (run / "report.html").unlink()
    scores = json.loads((run / "metrics.json").read_text())["evaluation"]["scores"]
    recipe = read_recipe(run / "recipe.yaml", Recipe).model_copy(update={"output": str(run)})
    bare = run_recipe(recipe, report=False)
    assert not run.joinpath("report.html").exists()
    assert not {"student", "models"} & set(bare.metrics)
    assert bare.metrics["evaluation"]["scores"] == scores
    whole = run_recipe(recipe)
    assert whole.report_page.exists()
    assert set(whole.metrics["models"]) == {*whole.metrics["teachers"], "student"}
    assert whole.metrics["student"]


@pytest.mark.slow
def test_report_elsewhere(run: Path, tmp_path: Path, call: Call) -> None:
    out = tmp_path / "pages" / "page.html"
    result = call("report", run, "--output", out)
    assert result.code == 0, result.err
    assert result.out == f"report: {out}\n"
    assert out.read_bytes() == (run / "report.html").read_bytes()


def test_several_runs_are_compared(run: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = call("report", run, other)
    assert result.code == 0, result.err
    assert result.out == "report: comparison.html\n"
    assert [path.name for path in Path().iterdir()] == ["comparison.html"]
    page = Path("comparison.html").read_text(encoding="utf-8")
    assert "2 runs compared" in page
    assert '<th scope="row">copy</th>' in page
    assert '<th scope="row">other</th>' in page
    result = call("report", "../other", run, "--output", tmp_path / "both.html")
    assert result.out == f"report: {tmp_path / 'both.html'}\n"
    assert (tmp_path / "both.html").exists()
    assert len(list(Path().iterdir())) == 1


@pytest.mark.slow
def test_evaluating_on_other_data_renews_the_report(run: Path, tmp_path: Path, call: Call) -> None:
    assert "on 40 labelled texts" in (run / "report.html").read_text(encoding="utf-8")
    data = labelled(tmp_path / "other.csv", 15, seed=33)
    result = call("evaluate", run, "--data", data, "--json")
    assert result.code == 0, result.err
    accuracy = f"{100 * json.loads(result.out)['scores']['student']['accuracy']:.1f}"
    page = (run / "report.html").read_text(encoding="utf-8")
    assert f"The accuracy of the student is {accuracy}\u00a0% on 15 labelled texts" in page
    assert "Measured on 15 labelled texts." in (run / STUDENT).read_text(encoding="utf-8")


def test_an_unfinished_run_has_a_page_and_no_card(run: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "half").mkdir()
    shutil.copy(run / "recipe.yaml", tmp_path / "half")
    result = call("report", tmp_path / "half")
    assert result.code == 0, result.err
    assert "This run is not finished" in (tmp_path / "half" / "report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in (tmp_path / "half").iterdir() if path.name != ".alloykit.lock") == [
        "recipe.yaml",
        "report.html",
    ]


BAD = {
    "nowhere": (("nowhere",), ("a run folder", "'nowhere', which does not exist")),
    "a folder without a run": (("empty",), ("a run folder", "'empty'", "recipe that has been run")),
    "a file": (("file.txt",), ("a run folder", "'file.txt'")),
    "one of several": (("RUN", "nowhere"), ("a run folder", "'nowhere', which does not exist")),
    "the same twice": (("RUN", "RUN"), ("different run folders", "the same one twice")),
    "damaged metrics": (("BROKEN",), ("valid JSON", "metrics.json")),
}


@pytest.mark.parametrize("name", BAD)
def test_report_refuses(name: str, run: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text(examples(1)[0][0])
    arguments, words = BAD[name]
    if name == "damaged metrics":
        (run / "metrics.json").write_text("{")
    result = call("report", *(run if a in ("RUN", "BROKEN") else a for a in arguments))
    collect(f"report: {name}", result)
    result.refused(*words)
    assert not (tmp_path / "comparison.html").exists()
    assert not list((tmp_path / "empty").iterdir())


def test_report_needs_a_run(call: Call) -> None:
    assert call("report").code == 2
