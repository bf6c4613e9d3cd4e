"""What a run that starts again finds in its folder."""

from __future__ import annotations

from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from alloykit.errors import AlloyError
from alloykit.knowledge.store.artifacts import recorded
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import CHANGES, ENVIRONMENT, EXPORT, INPUTS, RECIPE, STATE
from alloykit.run_folder.run_folder import (
    RunFolder,
    check_run,
    classifier_folder,
    environment,
    files_to_keep,
    folder_of,
    is_run_folder,
    onnx_folder,
    open_run,
    record_inputs,
    unresolved_settings,
)


def recipe_in(folder: Path, **changed: Any) -> Recipe:
    values = {"teachers": ["a", "b"], "texts": "t.csv", "student": "c", "output": str(folder)}
    return parse(values | changed, Recipe)


def put(folder: Path, name: str) -> None:
    (folder / name).write_text("{}") if "." in name else (folder / name).mkdir()


OTHERS: dict[str, Any] = {
    "teachers": ["a", "d"],
    "texts": "u.csv",
    "student": "d",
    "method": "muka",
    "labels": {"keep_apart": True},
    "training": {"epochs": 9},
    "validation": {"data": {"path": "v.csv", "label": "y"}},
    "labelled": {"data": {"path": "l.csv", "label": "y"}},
    "inference": {"seed": 3},
    "generation": {"language_model": "g"},
}


@pytest.mark.parametrize("result", ["student", "training", "metrics.json"])
def test_a_run_with_results_is_of_one_recipe_and_its_inputs(result: str, tmp_path: Path) -> None:
    run = open_run(recipe_in(tmp_path, training={"epochs": 3}), {"texts": "1"})
    assert (tmp_path / ENVIRONMENT).exists()
    put(tmp_path, result)
    for section, value in OTHERS.items():
        with pytest.raises(AlloyError, match=rf"(?s)the recipe that made .*- {section}"):
            open_run(recipe_in(tmp_path, **({"training": {"epochs": 3}} | {section: value})), {"texts": "1"})
    with pytest.raises(AlloyError, match="texts: was '1', now '2'"):
        open_run(recipe_in(tmp_path), {"texts": "2"})
    with pytest.raises(AlloyError, match="more: not recorded"):
        record_inputs(run, {"more": "x"})
    open_run(recipe_in(tmp_path), {"texts": "1"})  # whose number of epochs the texts would decide
    assert recorded(tmp_path / INPUTS) == {"texts": "1"}


def test_a_run_without_results_may_become_another_one(tmp_path: Path) -> None:
    run = open_run(recipe_in(tmp_path), {"texts": "1"})
    open_run(recipe_in(tmp_path, method="muka"), {"validation": "2"})
    assert recorded(tmp_path / INPUTS) == {"validation": "2"}
    record_inputs(run, {"more": "x"})
    assert recorded(tmp_path / INPUTS) == {"validation": "2", "more": "x"}


@pytest.mark.parametrize(
    ("name", "allowed"), [("cache", True), ("start", True), ("generated", True), ("questions", True), ("mine", False)]
)
def test_what_may_be_in_the_folder_before(name: str, allowed: bool, tmp_path: Path) -> None:
    put(tmp_path, name)
    with nullcontext() if allowed else pytest.raises(AlloyError, match=r"with other files \('mine'\)"):
        open_run(recipe_in(tmp_path), {})


@pytest.mark.parametrize(
    "name",
    ["student", "training", "tensorboard", "training.json", "metrics.json", "answers.safetensors", "report.html"],
)
def test_overwrite_removes_what_was_made_of_the_student(name: str, tmp_path: Path) -> None:
    open_run(recipe_in(tmp_path), {})
    put(tmp_path, name)
    put(tmp_path, "cache")
    open_run(recipe_in(tmp_path, method="muka"), {}, overwrite=True)
    assert not (tmp_path / name).exists()
    assert (tmp_path / "cache").exists()


@pytest.mark.parametrize("kind", ["other files", "a file", "a link to nowhere"])
def test_a_student_that_is_not_whole_is_refused(kind: str, tmp_path: Path) -> None:
    open_run(recipe_in(tmp_path), {})
    student = tmp_path / "student"
    if kind == "other files":
        student.mkdir()
        put(student, "mine.txt")
    elif kind == "a file":
        student.write_text("mine")
    else:
        student.symlink_to(tmp_path / "nowhere")
    with pytest.raises(AlloyError, match=rf"a whole student in .*; got {kind}\."):
        open_run(recipe_in(tmp_path), {})


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_that_was_killed_before_its_training_keeps_its_fit(overwrite: bool, tmp_path: Path) -> None:
    """The file says what it was made of, so it is used only if it fits. `--overwrite` removes it."""
    recipe = recipe_in(tmp_path)
    open_run(recipe, {"texts": "1"})
    (tmp_path / STATE).write_bytes(b"fit")
    (tmp_path / "report.html").write_text("of an earlier run")
    open_run(recipe, {"texts": "1"}, overwrite=overwrite)
    assert (tmp_path / STATE).exists() is not overwrite
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_was_made_of_an_earlier_student_goes_with_it(overwrite: bool, tmp_path: Path) -> None:
    """Without a student, it is that of a student that somebody has removed."""
    open_run(recipe_in(tmp_path), {})
    (tmp_path / EXPORT).mkdir(parents=True)
    (tmp_path / EXPORT / "config.json").write_text("{}")
    (tmp_path / "export" / "mine").mkdir()
    (tmp_path / CHANGES).write_text("{}")
    open_run(recipe_in(tmp_path), {}, begun=True)
    assert (tmp_path / EXPORT).exists()
    open_run(recipe_in(tmp_path), {}, overwrite=overwrite)
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["mine"]
    assert not (tmp_path / CHANGES).exists()


def test_no_link_to_an_export_is_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "onnx"
    elsewhere.mkdir(parents=True)
    run = tmp_path / "run"
    run.mkdir()
    (run / "export").symlink_to(elsewhere.parent)
    (run / "recipe.yaml").write_text("")
    with pytest.raises(AlloyError, match="a link to"):
        check_run(recipe_in(run), {}, overwrite=True)  # before anything is computed
    with pytest.raises(AlloyError, match="a link to"):
        open_run(recipe_in(run), {}, overwrite=True)
    assert elsewhere.exists()


def test_further_inputs_stay_recorded_until_the_student_is_replaced(tmp_path: Path) -> None:
    run = open_run(recipe_in(tmp_path), {"texts": "1"})
    record_inputs(run, {"more": "x"})
    put(tmp_path, "training")
    open_run(recipe_in(tmp_path), {"texts": "1"})
    assert recorded(tmp_path / INPUTS) == {"texts": "1", "more": "x"}
    open_run(recipe_in(tmp_path), {"texts": "2"}, overwrite=True)
    assert recorded(tmp_path / INPUTS) == {"texts": "2"}


def test_a_run_of_several_questions_keeps_its_questions(tmp_path: Path) -> None:
    def recipe(teacher: str) -> QuestionsRecipe:
        values = {"questions": {"topic": {"teachers": [teacher]}}, "texts": "t.csv", "student": "c"}
        return parse(values | {"output": str(tmp_path)}, QuestionsRecipe)

    open_run(recipe("a"), {})
    put(tmp_path, "training")
    open_run(recipe("a"), {})
    with pytest.raises(AlloyError, match=r"- questions\.topic\.teachers"):
        open_run(recipe("b"), {})


def test_results_whose_recipe_is_damaged_are_kept(tmp_path: Path) -> None:
    open_run(recipe_in(tmp_path), {})
    put(tmp_path, "training")
    (tmp_path / RECIPE).write_text("teachers: [")
    with pytest.raises(AlloyError, match="Restore it. Choose another `output`, or add --overwrite"):
        open_run(recipe_in(tmp_path), {})
    (tmp_path / RECIPE).unlink()
    with pytest.raises(AlloyError, match="with other files"):
        open_run(recipe_in(tmp_path), {})


def test_the_environment_names_packages_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.run_folder.run_folder.PACKAGES", ("torch", "no-such-package"))
    assert environment()["packages"] == {"torch": version("torch"), "no-such-package": "not installed"}


def test_settings_that_the_texts_decide_count_as_equal_before_they_are_read() -> None:
    new = {"training": {"epochs": None, "learning_rate": 0.1}}
    assert unresolved_settings({"training": {"epochs": 3, "learning_rate": 0.2}}, new) == {"epochs": 3}
    for damaged in ({}, {"training": 5}, {"training": {}}):
        assert unresolved_settings(damaged, new) == {"epochs": None}


def test_which_folders_are_runs(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    open_run(recipe_in(run), {})
    other.mkdir()
    assert is_run_folder(run)
    assert not is_run_folder(other)
    assert not is_run_folder(Path("a\0b"))
    assert (classifier_folder(run), classifier_folder(other)) == (run / "student", other)
    assert (onnx_folder(run), onnx_folder(other)) == (run / EXPORT, other)
    assert set(files_to_keep(run)) > {run / "student", run / RECIPE, run / INPUTS, run / "pool-answers.json"}
    assert folder_of(str(run)) == folder_of(RunFolder(run)) == run
    with pytest.raises(AlloyError, match="got a int"):
        folder_of(5)  # type: ignore[arg-type]
