"""What users pass to `teachers=[…]` in Python, as entries of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.teachers.function_in_memory import Teacher
from alloykit.teachers.hugging_face_in_memory import ModelInMemory
from alloykit.teachers.in_memory import HeldTeacher
from alloykit.teachers.protocol import TeacherSpec
from alloykit.teachers.scikit_learn import classes_of, from_sklearn


def held_teacher(given: Any) -> HeldTeacher | None:
    """The teacher in memory that an object stands for; None for a path, a block or a dictionary. AlloyError for anything else.

    (model, tokenizer) or a pipeline of transformers; `alloykit.Teacher`; a classifier of scikit-learn's kind, such as a SetFit model; or
    (encoder of sentence-transformers, classifier of its states).
    """
    if isinstance(given, (str, Path, Mapping, TeacherSpec)):
        return None
    if isinstance(given, HeldTeacher):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        first, second = given
        if hasattr(first, "save_pretrained") and hasattr(first, "config") and hasattr(second, "save_pretrained"):
            return ModelInMemory(first, second)
        if hasattr(first, "encode") and hasattr(second, "predict_proba"):
            name = type(second).__name__.lower()
            labels = classes_of(second, name)
            return Teacher(
                lambda texts: second.predict_proba(first.encode(texts)),
                labels,
                name,
                kind="sentence encoder with a head",
            )
    if getattr(given, "task", None) == "text-classification" and hasattr(given, "tokenizer"):
        return ModelInMemory(given.model, given.tokenizer)
    if hasattr(given, "predict_proba"):
        return from_sklearn(given)
    hint = "Give (model, tokenizer), or save both with save_pretrained(folder) and give the folder." if hasattr(
        given, "save_pretrained"
    ) else 'For instance teachers=["teachers/billing", alloykit.Teacher(function, labels=["bug", "login"])].'  # fmt: skip
    raise AlloyError(
        expected="a folder, a hub id, a dictionary, or a teacher in memory, for each teacher",
        got=f"a {type(given).__name__}",
        hint=hint,
    )
