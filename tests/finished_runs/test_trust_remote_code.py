"""The recipe of a run folder may be somebody else's: it alone lets no model run its code, wherever it names the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from commandline import write_csv, write_recipe

from alloykit import AlloyError
from alloykit.finished_runs import update_questions as questions
from alloykit.finished_runs import update_run as updating
from alloykit.finished_runs.finished_run import refuse_code
from alloykit.finished_runs.update_recipe import Changes
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.run_folder import RunFolder

LANGUAGE_MODEL = {"generation": {"language_model": {"model": "strange/writer", "trust_remote_code": True}}}
EPOCHS = Changes(overrides=("training.epochs=1",))


def values_of(folder: Path, models: dict[str, Path], **changes: Any) -> dict[str, Any]:
    values = {"teachers": [str(models["billing"]), str(models["delivery"])], "student": str(models["encoder"])}
    values |= {"texts": str(write_csv(folder / "t.csv", [["a text"]])), "output": str(folder)}
    return values | changes


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "metrics", {"labels": []})


@pytest.mark.parametrize(
    ("where", "changes"),
    [
        ("generation.language_model", LANGUAGE_MODEL),
        ("student", {"student": {"model": "strange/encoder", "trust_remote_code": True}}),
        ("teachers.1", {"teachers": ["a", {"model": "strange/teacher", "trust_remote_code": True}]}),
    ],
)
def test_every_model_of_the_recipe(
    where: str, changes: dict[str, Any], models: dict[str, Path], tmp_path: Path
) -> None:
    refuse_code(parse(values_of(tmp_path, models), Recipe), tmp_path)
    with pytest.raises(AlloyError, match=rf"`{where}` \('strange/.*--trust-remote-code"):
        refuse_code(parse(values_of(tmp_path, models, **changes), Recipe), tmp_path)


@pytest.mark.usefixtures("measured")
def test_an_update_runs_no_code_of_the_language_model(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(tmp_path, values_of(tmp_path, models, **LANGUAGE_MODEL))
    monkeypatch.setattr(updating, "run_recipe", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(AlloyError, match="`generation.language_model`"):
        updating.update_run(RunFolder(tmp_path), EPOCHS)


@pytest.mark.usefixtures("measured")
def test_what_an_update_adds_needs_the_flag_too(models: dict[str, Path], tmp_path: Path) -> None:
    write_recipe(tmp_path, values_of(tmp_path, models))
    changes = Changes(overrides=("student.trust_remote_code=true",))
    with pytest.raises(AlloyError, match="`student`.*--trust-remote-code"):
        updating.update_run(RunFolder(tmp_path), changes)


@pytest.mark.usefixtures("measured")
def test_the_recipe_of_all_questions(models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question has a recipe of its own in the run folder, but the update is made from the one of all questions."""
    values = values_of(tmp_path, models)
    teachers = values.pop("teachers")
    asked = {"topic": {"teachers": teachers, "method": "uhc"}}
    part = tmp_path / "questions" / "topic"
    part.mkdir(parents=True)
    write_recipe(part, values | {"teachers": teachers, "method": "uhc"})
    trusting = {"student": {"model": "strange/encoder", "trust_remote_code": True}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(values | {"questions": asked} | trusting))
    monkeypatch.setattr(questions, "run_questions", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(AlloyError, match="`student`.*--trust-remote-code"):
        updating.update_run(RunFolder(tmp_path), EPOCHS)
