"""A model of transformers in memory as a teacher. It is saved once into a temporary folder, and read from there like any other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from alloykit.digests import digest
from alloykit.file_errors import file_errors
from alloykit.progress import library_bars_off
from alloykit.teachers.hugging_face import HuggingFaceInfo, HuggingFaceSpec, read_teacher_info
from alloykit.teachers.in_memory import HeldTeacher, InMemoryTeacherSpec
from alloykit.teachers.model_fingerprints import model_fingerprints
from alloykit.teachers.protocol import TeacherSpec


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save both in one folder. AlloyError if it cannot be written."""
    with file_errors(folder), library_bars_off():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


class ModelInMemory(HeldTeacher):
    """A classifier and its tokenizer. It is copied when it is made: later changes of the model have no effect."""

    kind = "model"

    def __init__(self, model: Any, tokenizer: Any, name: str | None = None) -> None:
        labels = sorted((int(k), str(v)) for k, v in model.config.id2label.items())
        self.name = name
        self.fingerprint = digest([model_fingerprints(model, model.config, tokenizer), labels])
        self._model, self._tokenizer = model, tokenizer

    @cached_property
    def _place(self) -> TemporaryDirectory[str]:
        place = TemporaryDirectory(prefix="alloykit-model-", ignore_cleanup_errors=True)
        save_model(self._model, self._tokenizer, Path(place.name))
        return place

    @property
    def folder(self) -> str:
        return self._place.name

    def describe(self, name: str, spec: InMemoryTeacherSpec) -> HeldModelInfo:
        info = read_teacher_info(HuggingFaceSpec(model=self.folder), name)
        return HeldModelInfo(name, spec, info.labels, None, info.config, self)


@dataclass(frozen=True)
class HeldModelInfo(HuggingFaceInfo):
    """What is known of a model in memory. `held`: the model."""

    held: ModelInMemory

    @property
    def model_spec(self) -> HuggingFaceSpec:
        return HuggingFaceSpec(model=self.held.folder)

    @property
    def pinned(self) -> TeacherSpec:
        return self.spec.model_copy(update={"name": self.name})

    def identity(self) -> str:
        return self.held.fingerprint
