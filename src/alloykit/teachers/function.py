"""A Python function as a teacher: in memory, or named in the recipe."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from pydantic import Field

from alloykit.blocks import PathText
from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.models.forward import Advance
from alloykit.names import clean_names
from alloykit.teachers.answers import logits_of
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, TeacherSpec
from alloykit.teachers.trust import require_trust
from alloykit.teachers.user_code import user_code

BATCH = 256  # texts that the function gets at once
RAISED = "The function raised it. Finished shards are kept: correct the function and run again."
Function = Callable[[list[Any]], Any]
"""A list of texts, or of (text, second text) where texts are pairs → their answers (teachers/answers.py)."""


class PythonSpec(TeacherSpec):
    """A function of your own code. It is imported only with `--trust-python`."""

    key: ClassVar[str] = "python"

    python: PathText
    """The function, `package.module:function`. It gets a list of texts and returns probabilities, labels or None for each."""
    labels: list[str] = Field(min_length=2)
    """Its labels, in the order of its probabilities."""
    version: str = ""
    """Change it whenever the function gives other answers."""

    def describe(self, name: str) -> FunctionInfo:
        require_trust(f"`python: {self.python}`", name)
        labels = clean_names(self.labels, f"teacher '{name}'")
        return FunctionInfo(name, self, labels, imported(self.python), digest([self.python, labels, self.version]))


@dataclass(frozen=True)
class FunctionInfo(TeacherInfo):
    """What is known of a function. `declared`: the SHA-256 of what the user declares."""

    function: Function
    declared: str

    probed: ClassVar[bool] = True

    @property
    def gives(self) -> Gives:
        return Gives(every_text=False)

    def identity(self) -> str:
        return self.declared

    def load(self, reading: Reading) -> FunctionTeacher:
        return FunctionTeacher(self)


class FunctionTeacher(Answerer):
    """Calls the function with at most 256 texts at a time."""

    def __init__(self, info: FunctionInfo) -> None:
        self.info: FunctionInfo = info

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        found = []
        for start in range(0, len(prepared), BATCH):
            texts = [text if pair is None else (text, pair) for text, pair in prepared[start : start + BATCH]]
            number = len(texts)  # the function may change its list
            with user_code(f"answers of teacher '{self.info.name}' to {number} texts", RAISED):
                found.append(logits_of(self.info.function(texts), self.info.labels, number, self.info.name))
            advance(number)
        return Outputs(torch.cat(found))


def imported(path: str) -> Function:
    """The function of `package.module:function`. AlloyError if there is none."""
    module, _, name = path.partition(":")
    wanted = "`python: package.module:function`, which Python can import"
    check = "Check the name, and that the module is installed or below a folder in PYTHONPATH."
    with user_code(wanted, check, f"'{path[:300]}'"):
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    if not callable(found):
        raise AlloyError(expected="a function", got=f"'{path}', which is a {type(found).__name__}")
    return found  # type: ignore[no-any-return]
