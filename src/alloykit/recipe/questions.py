"""The recipe of a student that answers several questions: each has teachers, labels and a method of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from alloykit.blocks import Block
from alloykit.data import TextsOptions
from alloykit.methods.defaults import AMALGAMATION
from alloykit.methods.registry import create
from alloykit.recipe.read_recipe import name_in_messages, parse, recipe_values
from alloykit.recipe.recipe import Recipe, StudentRecipe, complete_method
from alloykit.recipe.recipe_blocks import DataBlock, EvaluateBlock, LabelOptions, RecipeBlock
from alloykit.recipe.texts_origin import InMemory, TextsOrigin
from alloykit.teachers.kinds import AnyTeacher
from alloykit.training.training_options import StudentSpec

QUESTIONS = "questions"  # the key of the recipe, and the folder in a run folder that has one folder for each question
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")


class Question(Block):
    """One question: its teachers, and how their answers are joined."""

    teachers: list[AnyTeacher] = Field(min_length=1)
    """The teachers of this question: folders or hub ids of fine-tuned classifiers, or blocks of other kinds of teachers."""
    method: dict[str, Any] = Field({"name": AMALGAMATION}, validate_default=True)
    """A method's name, or `{name: …}` with its options. Its loss must read only the student's answers, with one phase of training."""
    labels: LabelOptions = LabelOptions()
    """How labels of different teachers are joined."""
    column: str | None = None
    """The column of the true labels of this question, in labelled texts. Default: the question's name."""

    @field_validator("method", mode="before")
    @classmethod
    def _complete_method(cls, value: Any) -> Any:
        return complete_method(value)


class _QuestionsAndTexts(RecipeBlock):
    """What a student of several questions learns from."""

    questions: dict[str, Question] = Field(min_length=1)
    """The questions by name, such as `topic` and `sentiment`. Each has teachers of its own."""
    texts: TextsOrigin
    """The unlabelled texts (the pool), from which all questions are learned."""
    student: StudentSpec
    """The encoder from which the student starts. All questions share it."""
    validation: DataBlock | None = None
    """Labelled texts to select the student's checkpoint with, for `training: {select: labelled}`. They have one column for each question."""
    evaluate: DataBlock | None = None
    """Labelled texts to test on, with one column for each question. A text without a label in a column is not used for its question."""


class QuestionsRecipe(StudentRecipe, _QuestionsAndTexts):  # pydantic lists the keys of the last base first
    """For `amalgamate`, `sweep`, `plan`, `doctor`: one student that answers several questions in one pass."""

    kind: ClassVar[str] = "questions"

    @field_validator("questions", mode="after")
    @classmethod
    def _names_of_folders(cls, value: dict[str, Question]) -> dict[str, Question]:
        if bad := [name for name in value if not _NAME.fullmatch(name)]:
            raise ValueError(f"give names of letters, digits, '.', '_' and '-', instead of '{bad[0][:60]}'")
        if len({name.lower() for name in value}) < len(value):
            raise ValueError("give names that differ in more than upper and lower case: they become folders")
        return value

    @model_validator(mode="after")
    def _one_column_a_question(self) -> QuestionsRecipe:
        blocks = {"texts": self.texts} | {
            f"{key}.data": block.data
            for key, block in (("validation", self.validation), ("evaluate", self.evaluate))
            if block is not None
        }
        for key, data in blocks.items():
            places = [data, *(data.more or ())] if isinstance(data, TextsOptions) else []
            if any(place.label is not None for place in places):
                raise ValueError(f"{key}: leave `label` out; `column` of each question names the column of its labels")
        for name in self.questions:
            self.question(name)
        return self

    def question(self, name: str) -> Recipe:
        """The recipe of one question alone: the same texts, student and training, and its own folder in the run folder."""
        asked = self.questions[name]
        column = asked.column or name
        needs = create(asked.method).needs
        return Recipe(
            teachers=asked.teachers,
            texts=with_label(self.texts, column) if needs.labels else self.texts,
            student=self.student,
            method=asked.method,
            labels=asked.labels,
            training=self.training,
            inference=self.inference,
            validation=self.validation and DataBlock(data=with_label(self.validation.data, column, needs.multi_label)),
            evaluate=self.evaluate and EvaluateBlock(data=with_label(self.evaluate.data, column, needs.multi_label)),
            report=self.report,
            engine=self.engine,
            device=self.device,
            output=str(Path(self.output) / QUESTIONS / name),
        )


def with_label(data: TextsOptions | InMemory, column: str, several: bool = False) -> TextsOptions | InMemory:
    """The same texts with their labels from this column. Texts in memory keep theirs. several: a text may have several labels; otherwise a
    separator of labels is left out."""
    if isinstance(data, InMemory):
        return data
    values, changes = data.model_dump(), {"label": column} | ({} if several else {"label_separator": None})
    more = [place | changes for place in values.pop("more") or ()]
    return TextsOptions.model_validate(values | changes | {"more": more or None})


def read_amalgamation(path: Path, overrides: Sequence[str] | None = None) -> Recipe | QuestionsRecipe:
    """Read and check a recipe file with `teachers:` or with `questions:`. The AlloyError lists all problems."""
    return parse_amalgamation(recipe_values(path, overrides), name_in_messages(path, overrides))


def parse_amalgamation(values: Mapping[str, Any], name: str = "the recipe") -> Recipe | QuestionsRecipe:
    """Check a recipe with `teachers:` or with `questions:`. The AlloyError lists all problems."""
    if QUESTIONS in values:
        return parse(values, QuestionsRecipe, name)
    return parse(values, Recipe, name)
