"""A `~` at the beginning of a path is the home folder, wherever a path can be given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from commandline import write_csv
from pydantic import TypeAdapter

import alloykit
from alloykit.blocks import Block
from alloykit.cli import options
from alloykit.cli.main import app
from alloykit.data import TextsOptions, load_texts
from alloykit.errors import AlloyError
from alloykit.finished_runs.folder_of_update import folder_of_update
from alloykit.finished_runs.predict_files import predict_files
from alloykit.paths import user_path
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import DistillRecipe, Recipe
from alloykit.recipe.recipe_blocks import EvaluateBlock
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.run_folder.run_folder import RunFolder
from alloykit.teachers.stored_answers import AnswersSpec

KINDS = (Recipe, DistillRecipe, QuestionsRecipe, TeachRecipe, TogetherRecipe, GenerateRecipe)
PATHS = ("FILE", "FOLDER", "RUN", "RECIPE", "MODEL", "TEXTS")
STRINGS = ("add_teacher", "replace_teacher", "teacher", "texts", "add_texts", "labelled")
"""Arguments for places that may also be on the hub: `load_texts` and the models' loader replace `~`."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_path() -> None:
    assert user_path("~/a") == Path.home() / "a"
    for other in ("a/~", "~nobody-of-this-name/a", "~\0", "s3:/a"):
        assert str(user_path(other)) == other


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_output_of_every_recipe(kind: type[Block], home: Path) -> None:
    field: Any = kind.model_fields["output"]
    found = TypeAdapter(Annotated[(field.annotation, *field.metadata)]).validate_python("~/runs/x")
    assert found == str(home / "runs" / "x")


def test_the_reference_of_an_evaluation(home: Path) -> None:
    assert EvaluateBlock(data={"path": "a.csv"}, reference="~/all").reference == str(home / "all")  # type: ignore[arg-type]


def test_every_path_of_every_command(home: Path) -> None:
    found = list[Any]()

    @options.with_options
    def command(one: Path, many: list[Path], none: Path | None, text: str) -> None:
        found.extend([one, many, none, text])

    command(one=Path("~/a"), many=[Path("~/b"), Path("c")], none=None, text="~/d")
    assert found == [home / "a", [home / "b", Path("c")], None, "~/d"]
    for registered in app.registered_commands:
        callback: Any = registered.callback
        for name, parameter in callback.__signature__.parameters.items():
            kind, *about = getattr(parameter.annotation, "__metadata__", ()) and get_args(parameter.annotation)
            assert "Path" in str(kind) or about[0].metavar not in PATHS or name in STRINGS, (callback.__name__, name)


def test_runs_and_outputs_in_python(home: Path) -> None:
    assert alloykit.Run("~/runs/x").folder == home / "runs" / "x"
    assert folder_of_update(RunFolder(home / "a"), "~/b") == home / "b"
    (home / "folder").mkdir()
    with pytest.raises(AlloyError, match=f"'{home / 'folder'}'"):
        alloykit.suggest("~/runs/x", output="~/folder")
    for path in Path(alloykit.__file__).with_name("commands").glob("*.py"):
        bare = re.findall(r"(?<!\w)Path\((?!COMPARISON)\w+\)", path.read_text())
        assert not bare, f"{path.name}: {bare}; `user_path` and `folder_of` replace ~"


def test_texts_and_answers(home: Path) -> None:
    write_csv(home / "t.csv", [("one", "a"), ("two", "b")], ("text", "label"))
    assert len(load_texts("~/t.csv")) == 2
    assert len(load_texts(TextsOptions(path="~/t.csv", more=["~/t.csv"]))) == 4
    assert AnswersSpec(answers="~/t.csv", label="label", certainty=0.9).describe("a").labels == ("a", "b")
    with pytest.raises(AlloyError, match="another folder"):
        predict_files(home / "run", "~/folder", home / "folder")
