"""The output folder: a finished run is never mixed with another recipe, nor with other people's files."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml
from commandline import Call, Finished, collect, files_of, write_csv, write_recipe

from alloykit.errors import AlloyError
from alloykit.run_folder.output_folder import check_file, check_new_file, check_output, check_removable, remove

Recipe = dict[str, Any]


@pytest.fixture
def made(finished: Finished, tmp_path: Path) -> Recipe:
    """A recipe whose output is a copy of the finished run."""
    shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    recipe = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text()) | {"output": str(tmp_path / "run")}
    return dict(recipe)


@pytest.mark.parametrize("command", ["amalgamate", "sweep", "teach"])
def test_an_output_that_is_a_file_is_refused(
    command: str, recipe: Recipe, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    (tmp_path / "run").write_text("mine")
    if command == "teach":
        recipe = {"model": str(models["encoder"]), "data": recipe["evaluate"]["data"], "output": recipe["output"]}
    result = call(command, write_recipe(tmp_path, recipe))
    collect(f"{command}: output is a file", result)
    result.refused("output", "file", str(tmp_path / "run"))
    assert (tmp_path / "run").read_text() == "mine"


def test_an_output_below_a_file_is_refused(recipe: Recipe, tmp_path: Path, call: Call) -> None:
    (tmp_path / "notes").write_text("mine")
    result = call("amalgamate", write_recipe(tmp_path, recipe | {"output": str(tmp_path / "notes" / "run")}))
    collect("output below a file", result)
    result.refused("notes")


@pytest.mark.parametrize("command", ["amalgamate", "teach"])
def test_a_folder_with_other_files_is_refused(
    command: str, recipe: Recipe, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    if command == "teach":
        recipe = {"model": str(models["encoder"]), "data": recipe["evaluate"]["data"], "output": recipe["output"]}
    before = files_of(tmp_path / "run")
    result = call(command, write_recipe(tmp_path, recipe))
    collect(f"{command}: output with other files", result)
    result.refused("`output`", "other files", str(tmp_path / "run"))
    assert files_of(tmp_path / "run") == before


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "method": ({"method": {"name": "muka", "passes": 4, "temperature": 0.5}}, ("method.temperature", "0.2", "0.5")),
    "training": ({"training": {"epochs": 9}}, ("training.epochs", "was 8.0, now 9.0")),
    "labels": ({"labels": {"keep_apart": True}}, ("labels.keep_apart", "False", "True")),
    "seed of the passes": ({"inference": {"seed": 3}}, ("inference.seed", "was 0, now 3")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_recipe_in_the_same_output_is_refused(name: str, made: Recipe, tmp_path: Path, call: Call) -> None:
    changes, words = CHANGES[name]
    before = files_of(tmp_path / "run")
    result = call("amalgamate", write_recipe(tmp_path, made | changes))
    collect(f"changed {name}", result)
    result.refused(*words, "--overwrite", "output")
    assert files_of(tmp_path / "run") == before


@pytest.mark.slow
def test_settings_that_change_no_result_are_not_another_recipe(made: Recipe, tmp_path: Path, call: Call) -> None:
    weights = tmp_path / "run" / "student" / "model.safetensors"
    before = files_of(weights.parent)[weights.name]
    changes = {"save_every_seconds": 5, "report_to": ["tensorboard"]}
    result = call("amalgamate", write_recipe(tmp_path, made | {"training": made["training"] | changes}))
    assert result.code == 0, result.out
    assert files_of(weights.parent)[weights.name] == before
    recorded = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text())["training"]
    assert {key: recorded[key] for key in changes} == changes


def test_other_teachers_in_the_same_output_are_refused(
    made: Recipe, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    before = files_of(tmp_path / "run")
    del made["evaluate"]  # whose labels the new teachers would not know
    result = call("amalgamate", write_recipe(tmp_path, made | {"teachers": [str(models["billing"])] * 2}))
    collect("changed teachers", result)
    result.refused("teachers", "--overwrite")
    assert files_of(tmp_path / "run") == before


def test_other_texts_under_the_same_name_are_refused(
    made: Recipe, finished: Finished, tmp_path: Path, call: Call
) -> None:
    texts = write_csv(tmp_path / "texts.csv", [[t] for t in tiny.texts(80)])
    made["texts"] = {"path": str(texts)}
    record = tmp_path / "run" / "recipe.yaml"
    record.write_text(yaml.safe_dump(yaml.safe_load(record.read_text()) | {"texts": made["texts"]}))
    assert call("plan", write_recipe(tmp_path, made)).code == 0
    write_csv(texts, [[t] for t in tiny.texts(81)])
    before = files_of(tmp_path / "run")
    result = call("amalgamate", write_recipe(tmp_path, made))
    collect("changed texts", result)
    result.refused("texts differ in content", "--overwrite")
    assert files_of(tmp_path / "run") == before


@pytest.mark.slow
def test_overwrite_makes_another_student_and_keeps_the_knowledge(made: Recipe, tmp_path: Path, call: Call) -> None:
    run = tmp_path / "run"
    knowledge, student = files_of(run / "cache"), (run / "student" / "model.safetensors").read_bytes()
    changed = made | {"training": made["training"] | {"epochs": 1}}
    result = call("amalgamate", write_recipe(tmp_path, changed), "--overwrite")
    assert result.code == 0
    assert (run / "student" / "model.safetensors").read_bytes() != student
    assert files_of(run / "cache") == knowledge
    assert yaml.safe_load((run / "recipe.yaml").read_text())["training"]["epochs"] == 1


def test_no_output_replaces_what_the_command_reads(
    finished: Finished, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished.folder, run)
    texts, folder = tmp_path / "texts.txt", tmp_path / "texts"
    texts.write_text("a text\n")
    folder.mkdir()
    (folder / "a.txt").hardlink_to(texts)
    before = files_of(tmp_path)
    for output in (texts, folder / "a.txt", run / "recipe.yaml", run / "student" / "config.json"):
        call("predict", run, texts, "--output", output).refused("another file as `--output`", str(output))
        call("watch", run, folder, "--output", output).refused("another file as `--output`", str(output))
    call("report", run, "--output", run / "metrics.json").refused("the same file as", "metrics.json")
    call("suggest", run, "--overwrite", "--output", run / "metrics.json").refused("the same file as", "metrics.json")
    teacher = ("--teacher", models["billing"], "--teacher", models["delivery"])
    call("init", *teacher, "--texts", texts, "--overwrite", "--output", texts).refused("the same file as", "texts.txt")
    assert files_of(tmp_path) == before


def test_a_link_to_nowhere_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path / "gone")
    for folder in (tmp_path / "run", tmp_path / "run" / "below"):
        with pytest.raises(AlloyError, match="a link to nowhere"):
            check_output(folder)
    (tmp_path / "gone").mkdir()
    check_output(tmp_path / "run")


def test_a_new_file_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "out.jsonl", tmp_path / "link"
    check_new_file(path, overwrite=False)
    path.write_text("mine")
    link.symlink_to(tmp_path / "gone")
    for there in (path, link):
        with pytest.raises(AlloyError, match="which exists, and more"):
            check_new_file(there, overwrite=False, loses=", and more")
        check_new_file(there, overwrite=True)
    check_new_file(Path("/dev/null"), overwrite=False, inputs=["/dev/null"])  # a terminal is read and written
    with pytest.raises(AlloyError, match="got the folder"):
        check_file(tmp_path, ())
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    for folder in (tmp_path, f"~/{tmp_path.name}"):
        with pytest.raises(AlloyError, match=f"one of '{folder}'"):
            check_new_file(path, overwrite=True, inputs=[None, "bundled:minilm", folder])


@pytest.mark.parametrize(
    ("name", "kind", "ours"),
    [
        ("student", "folder", True),
        ("student", "file", False),
        ("student", "link", False),
        ("report.html", "file", True),
        ("report.html", "folder", False),
        ("report.html", "link", False),
        ("export/onnx", "folder", True),
        ("export/onnx", "nothing", True),
        ("export/onnx", "link in the path", False),
    ],
)
def test_only_what_alloykit_makes_is_removed(name: str, kind: str, ours: bool, tmp_path: Path) -> None:
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    (elsewhere / "onnx").mkdir(parents=True)
    run.mkdir()
    place = run / name
    if kind == "link in the path":
        place.parent.symlink_to(elsewhere)
    elif kind != "nothing":
        place.parent.mkdir(exist_ok=True)
        make = {"folder": place.mkdir, "file": place.touch, "link": lambda: place.symlink_to(elsewhere)}
        make[kind]()
    for each in (check_removable, remove):
        with nullcontext() if ours else pytest.raises(AlloyError, match="It is not removed"):
            each(run, [name])
    assert place.exists() is not ours
    assert (elsewhere / "onnx").exists()


def test_all_is_removed_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was renamed before the failure has its name again. What an earlier command left does not stand in the way."""
    for name in ("student", "training", ".removed-student"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    rename = Path.rename

    def refused(path: Path, to: Path) -> Path:
        if path.name == "training":
            raise PermissionError(13, "Permission denied")
        return rename(path, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refused)
        with pytest.raises(AlloyError, match="training.*remove it yourself"):
            remove(tmp_path, ["student", "training"])
    assert (tmp_path / "student" / "file").read_text() == "student"
    assert (tmp_path / "training" / "file").exists()
    remove(tmp_path, ["student", "training", "metrics.json"])
    assert list(tmp_path.iterdir()) == []
