"""The first part of a run with several questions: each question is prepared like a run of its own, and one training is prepared for all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from alloykit.data import MissingColumn, Texts
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_several
from alloykit.methods.several_questions import QuestionMethod, SeveralQuestions, require_supervision_only
from alloykit.models.questions import joint_label
from alloykit.processes import launched
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.stages.inputs import inputs_of
from alloykit.stages.prepare_run import prepare_run
from alloykit.stages.prepared import Prepared
from alloykit.stages.recipe_texts import read, wants_labels
from alloykit.training.schedule import with_defaults
from alloykit.yaml_files import yaml_on_one_line


@dataclass(frozen=True)
class PreparedQuestions:
    """`parts`: each question as a run of its own, by name. `joint`: the student over the labels of all questions."""

    recipe: QuestionsRecipe
    parts: dict[str, Prepared]
    joint: Prepared

    @property
    def pinned(self) -> QuestionsRecipe:
        """The recipe with the hub revision of every teacher, and the training's epochs and learning rate, written out."""
        questions = {
            name: self.recipe.questions[name].model_copy(update={"teachers": part.pinned.teachers})
            for name, part in self.parts.items()
        }
        return self.recipe.model_copy(update={"questions": questions, "training": self.joint.recipe.training})

    @property
    def inputs(self) -> dict[str, Any]:
        """By question, what its fit and its part of the student depend on."""
        return {"questions": {name: inputs_of(part) for name, part in self.parts.items()}}


def prepare_questions(recipe: QuestionsRecipe, tables: Mapping[str, Texts] | None) -> PreparedQuestions:
    """Check a recipe with several questions, and read its texts. tables: the pool, under `texts`, if it is in memory. Writes nothing. AlloyError."""
    pool, parts = (tables or {}).get("texts"), dict[str, Prepared]()
    for name in recipe.questions:
        with of_question(name):
            one = recipe.question(name)
            method = create(one.method)
            require_supervision_only(method)
            if launched()[1] > 1:
                require_several(method, launched()[1])
            if wants_labels(one, method):
                texts = (tables or {}).get("texts")
            else:
                texts = pool = pool if pool is not None else read(recipe.texts)
            parts[name] = prepare_run(one, {} if texts is None else {"texts": texts})
    _require_same_texts("texts", {name: part.texts for name, part in parts.items()})
    if recipe.training.select == "labelled":
        checked = {name: part.validation for name, part in parts.items() if part.validation is not None}
        _require_same_texts("validation", checked)
    joint = _joint(recipe, parts)
    training = joint.recipe.training
    parts = {
        name: replace(part, recipe=part.recipe.model_copy(update={"training": training}))
        for name, part in parts.items()
    }
    return PreparedQuestions(recipe, parts, joint)


def joint_method(parts: Mapping[str, Prepared], contexts: Mapping[str, Any] | None = None) -> SeveralQuestions:
    """The method that trains one student for all questions. contexts: by question, after the fit."""
    return SeveralQuestions(
        [QuestionMethod(name, p.method, (contexts or {}).get(name) or p.context) for name, p in parts.items()]
    )


def _joint(recipe: QuestionsRecipe, parts: Mapping[str, Prepared]) -> Prepared:
    first = next(iter(parts.values()))
    names = {name: [joint_label(name, label) for label in part.space.names] for name, part in parts.items()}
    teachers = [
        tuple(joint_label(name, label) for label in labels)
        for name, part in parts.items()
        for labels in part.space.teachers
    ]
    space = LabelSpace(tuple(chain(*names.values())), tuple(teachers))
    shape = first.student_shape
    assert shape is not None
    training = with_defaults(recipe.training, first.examples, space.size, shape.layers, shape.hidden_size)
    whole = first.recipe.model_copy(update={"training": training, "output": recipe.output})
    infos = [info for part in parts.values() for info in part.infos]
    return replace(first, recipe=whole, infos=infos, space=space, method=joint_method(parts), test=None)


@contextmanager
def of_question(name: str) -> Iterator[None]:
    """An AlloyError inside names the question, and a hint about the column of its labels the key that a recipe with questions has for it."""
    try:
        yield
    except AlloyError as error:
        hint = error.hint
        if isinstance(error, MissingColumn) and error.role == "label":
            block = yaml_on_one_line({name: {"column": error.guess or "COLUMN"}})
            hint = f"Call the column of the labels '{error.column}'. Before a run, the recipe can name another one: `questions: {block}`."
        raise AlloyError(expected=f"{error.expected}, in question '{name}'", got=error.got, hint=hint) from error


def _require_same_texts(key: str, tables: Mapping[str, Texts]) -> None:
    """AlloyError unless all questions have the same texts: a text without a label for a question was dropped from its table."""
    (first, texts), *others = tables.items()
    for name, other in others:
        if other is not texts and _ids(other) != _ids(texts):
            raise AlloyError(
                expected=f"a label for every question beside each text of `{key}:`",
                got=f"{len(texts):,} texts with a label for '{first}' and {len(other):,} for '{name}'",
                hint="Complete the labels, or leave texts out that have none for a question.",
            )


def _ids(texts: Texts) -> bytes:
    """A digest of the ids of the texts, in their order."""
    found = hashlib.sha256(str(len(texts)).encode())
    for _, block in texts.ids().blocks(65_536):
        found.update(block.tobytes())
    return found.digest()


def folder_of_cache(cache: str | Path | None, name: str) -> str | None:
    """The folder of one question's outputs below the folder `cache` of all; None if each question keeps them in its own folder."""
    return None if cache is None else f"{str(cache).rstrip('/')}/{name}"
