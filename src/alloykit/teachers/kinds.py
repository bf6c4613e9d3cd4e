"""Every kind of teacher, one line each. The key of an entry in the recipe says which kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Discriminator, Tag

from alloykit.teachers.function import PythonSpec
from alloykit.teachers.hugging_face import HuggingFaceSpec
from alloykit.teachers.in_memory import InMemoryTeacherSpec
from alloykit.teachers.onnx import OnnxSpec
from alloykit.teachers.protocol import TeacherSpec
from alloykit.teachers.scikit_learn import SklearnSpec
from alloykit.teachers.service import ServiceSpec
from alloykit.teachers.stored_answers import AnswersSpec
from alloykit.teachers.zero_shot import ZeroShotSpec

KINDS: tuple[type[TeacherSpec], ...] = (
    HuggingFaceSpec,
    AnswersSpec,
    PythonSpec,
    SklearnSpec,
    OnnxSpec,
    ZeroShotSpec,
    ServiceSpec,
    InMemoryTeacherSpec,
)
NO_TEACHER = f"give a folder, a hub id or a block with one of the keys {', '.join(kind.key for kind in KINDS[:-1])}"


def _kind_of(value: Any) -> str | None:
    """The key that a value is meant for."""
    if isinstance(value, TeacherSpec):
        return value.key
    if isinstance(value, str | Path):
        return HuggingFaceSpec.key
    if not isinstance(value, Mapping):
        return None
    return next((kind.key for kind in reversed(KINDS) if kind.key in value), HuggingFaceSpec.key)


if TYPE_CHECKING:
    AnyTeacher: TypeAlias = TeacherSpec
else:
    AnyTeacher = Annotated[
        reduce(or_, (Annotated[kind, Tag(kind.key)] for kind in KINDS)),
        Discriminator(_kind_of, custom_error_type="no_teacher", custom_error_message=NO_TEACHER),
    ]
"""One entry of `teachers:`, of any kind."""
