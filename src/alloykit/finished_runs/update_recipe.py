"""The recipe of an update: that of an earlier run, with other teachers or more texts, and a student that continues the earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.finished_runs.suggest_texts import SEPARATOR
from alloykit.methods.registry import create
from alloykit.names import quoted, unknown_name
from alloykit.progress import log_line
from alloykit.recipe.overrides import override
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import GENERATE
from alloykit.run_folder.read import any_recipe_of
from alloykit.run_folder.run_folder import RunFolder


@dataclass(frozen=True)
class Changes:
    """What an update changes.

    add_teachers: models. remove_teachers: names. replace_teachers: name → the new model. add_texts, labelled: files. overrides: changes of
    the recipe's values, such as "training.epochs=2".
    """

    add_teachers: Sequence[str] = ()
    remove_teachers: Sequence[str] = ()
    replace_teachers: Mapping[str, str] = field(default_factory=dict)
    add_texts: Sequence[str] = ()
    labelled: Sequence[str] = ()
    overrides: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any((self.add_teachers, self.remove_teachers, self.replace_teachers, self.add_texts, self.labelled, self.overrides))  # fmt: skip


def updated_recipe(run: RunFolder, changes: Changes, output: Path) -> Recipe:
    """The recipe of the update. AlloyError for a teacher that the run does not have, for texts that are in no file, and for no change at all."""
    _require_some(changes)
    recipe = run.recipe
    values = recipe.model_dump(mode="json")
    values |= {"output": str(output), "teachers": _teachers(values["teachers"], changes)}
    if values["student"] is not None and run.has_student:
        values["student"]["continues"] = str(run.student)
    if changes.add_texts:
        values["texts"] = _with_more(_block(values["texts"], "texts"), [{"path": path} for path in changes.add_texts])
    if changes.labelled:
        values["labelled"] = {"data": _labelled(values, changes.labelled)}
    values = override(values, list(changes.overrides))
    if values["texts"] == GENERATE:
        raise AlloyError(
            expected="a run whose texts are in a file",
            got="one with `texts: generate`, which has no texts for other teachers",
            hint="Write texts for all teachers with `alloykit generate`, and name them with `-o texts=FILE`.",
        )
    return parse(values, Recipe, f"the recipe of {run.folder}, as it is updated")


def updated_questions(run: RunFolder, changes: Changes, output: Path) -> QuestionsRecipe:
    """The same for a run with several questions. Teachers are named QUESTION/NAME, and a further one is QUESTION=MODEL."""
    _require_some(changes)
    if changes.labelled:
        raise AlloyError(
            expected="a run with one question, for `--labelled`",
            got=f"{run.folder}, whose student answers several",
            hint=f"Update the folder of one question, such as {next(iter(run.questions.values())).folder}: the new run then answers this question alone.",
        )
    recipe = any_recipe_of(run.folder)
    assert isinstance(recipe, QuestionsRecipe)
    values = recipe.model_dump(mode="json")
    values["output"] = str(output)
    for name, own in changes_by_question(changes, list(recipe.questions)).items():
        asked = values["questions"][name]
        asked["teachers"] = _teachers(asked["teachers"], own)
    if run.has_student:
        values["student"]["continues"] = str(run.student)
    if changes.add_texts:
        values["texts"] = _with_more(_block(values["texts"], "texts"), [{"path": path} for path in changes.add_texts])
    values = override(values, list(changes.overrides))
    return parse(values, QuestionsRecipe, f"the recipe of {run.folder}, as it is updated")


def changes_by_question(changes: Changes, questions: Sequence[str]) -> dict[str, Changes]:
    """The changes of each question's teachers. AlloyError for a teacher that is not named by its question."""

    def of(text: str, between: str, example: str) -> tuple[str, str]:
        question, found, rest = text.partition(between)
        if not found or question not in questions:
            raise AlloyError(
                expected=f"a teacher of one of the questions {quoted(questions)}, as {example}",
                got=f"'{text}'",
                hint=f"For instance {example.replace('QUESTION', questions[0])}.",
            )
        return question, rest

    added = [of(model, "=", "QUESTION=MODEL") for model in changes.add_teachers]
    removed = [of(name, "/", "QUESTION/NAME") for name in changes.remove_teachers]
    replaced = [(*of(name, "/", "QUESTION/NAME"), model) for name, model in changes.replace_teachers.items()]
    return {
        question: Changes(
            tuple(model for q, model in added if q == question),
            tuple(name for q, name in removed if q == question),
            {name: model for q, name, model in replaced if q == question},
        )
        for question in questions
    }


def kept_teachers(before: Recipe, after: Recipe, changes: Changes) -> list[str]:
    """Names of the teachers whose outputs can be used again: they have the same entry in the recipe, were not replaced, read texts in the same way,
    and do not know by their row texts that are others now."""
    passes = create(after.method).needs.passes > 0
    if _reading(before, passes=passes) != _reading(after, passes=passes):
        log_line(
            "every teacher reads every text: the update changes how teachers read (`max_length`, `inference`, `device`)"
        )
        return []
    old = {teacher.name: teacher.model_dump() for teacher in before.teachers}
    return [
        str(teacher.name)
        for teacher in after.teachers
        if teacher.name is not None
        and teacher.name not in changes.replace_teachers
        and old.get(teacher.name) == teacher.model_dump()
        and (teacher.bound is None or before.texts == after.texts)
    ]


def _reading(recipe: Recipe, *, passes: bool) -> tuple[Any, ...]:
    """What the outputs of a teacher depend on, beside the teacher and the texts. passes: also those of Monte-Carlo passes."""
    left_out = set() if passes else {"seed", "tokens_per_batch"}
    return recipe.training.max_length, recipe.device, recipe.inference.model_dump(exclude=left_out)


def _teachers(before: Sequence[Mapping[str, Any]], changes: Changes) -> list[dict[str, Any]]:
    names = [teacher["name"] for teacher in before]
    for name in (*changes.remove_teachers, *changes.replace_teachers):
        if name not in names:
            raise unknown_name("a teacher of the run", name, names)
    if both := set(changes.remove_teachers) & set(changes.replace_teachers):
        raise AlloyError(expected="a teacher to be removed or replaced", got=f"{quoted(sorted(both))} in both")
    after: list[dict[str, Any]] = []
    for teacher in before:
        name = teacher["name"]
        if name in changes.replace_teachers:
            after.append({"model": changes.replace_teachers[name], "name": name})
        elif name not in changes.remove_teachers:
            after.append(dict(teacher))
    return [*after, *({"model": model} for model in changes.add_teachers)]


def _require_some(changes: Changes) -> None:
    if not changes:
        raise AlloyError(
            expected="something to change",
            got="nothing",
            hint="For instance `--add-teacher MODEL`, `--add-texts FILE` or `--labelled FILE`.",
        )


def _labelled(values: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """The block of the labelled texts: those of the run, if it has any, and these files, with the columns that `alloykit suggest` writes."""
    pair = isinstance(values["texts"], Mapping) and values["texts"].get("text_pair") is not None
    several = create(values["method"]).needs.multi_label
    columns = {"text": "text", "text_pair": "text_pair" if pair else None, "label": "label", "label_names": None}
    columns |= {"label_separator": SEPARATOR} if several else {}
    places = [{"path": path, **columns} for path in files]
    if values["labelled"] is None:
        return _with_more(places[0], places[1:])
    return _with_more(_block(values["labelled"]["data"], "labelled"), places)


def _block(value: Any, key: str) -> dict[str, Any]:
    if isinstance(value, Mapping) and "in_memory" not in value:
        return dict(value)
    raise AlloyError(
        expected=f"a run whose `{key}` are in a file, to add others to them",
        got="generated texts" if value == GENERATE else "texts that were passed from Python's memory",
        hint=f"Write all of them to a file, and name it with `-o {key}=FILE`."
        if key == "texts"
        else "Write all of them to a file, and name it with `-o labelled.data=FILE`.",
    )


def _with_more(block: Mapping[str, Any], places: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    more = [*(block.get("more") or []), *({"limit": None, **place} for place in places)]  # all of what is added
    return {**block, "more": more} if more else dict(block)
