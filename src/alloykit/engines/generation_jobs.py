"""Texts of a language model by several workers: a job is one batch of texts for one label of one teacher.

The batch depends only on its place (teacher, label, number) and the seed, so it is the same whichever worker writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alloykit.engines.jobs import Job
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.writer import TOKENS_PER_BATCH, GeneratedText, Writer
from alloykit.teachers.mc_dropout import key
from alloykit.teachers.protocol import Answerer, Reading, TeacherInfo


@dataclass(frozen=True)
class BatchOfTexts:
    """A finished batch. `reads`: how many texts the teacher has read to steer it."""

    reads: int
    texts: list[GeneratedText]


@dataclass(frozen=True)
class BatchPlace:
    """Which batch: the teacher, the position of the label in its labels, and the number of the batch."""

    info: TeacherInfo
    label: int
    number: int

    def job(self, size: int) -> Job:
        """The job that writes it. size: its texts."""
        return Job(self.info.name, self, size)


class GenerationMaker:
    """Makes a worker: a language model and one teacher in memory. In one process every call gives the same worker, so that both stay there."""

    def __init__(self, options: GenerationOptions, device: str, max_length: int) -> None:
        self.options, self.device, self.max_length = options, device, max_length
        self._made: _GenerationWorker | None = None

    def __call__(self) -> _GenerationWorker:
        self._made = self._made or _GenerationWorker(self.options, self.device, self.max_length)
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}


class _GenerationWorker:
    """Its results: what the teacher is made of, and the batch."""

    def __init__(self, options: GenerationOptions, device: str, max_length: int) -> None:
        self.writer = Writer(options, device)
        self.reading = Reading(max_length=max_length, device=device, tokens_per_batch=TOKENS_PER_BATCH)
        self.teacher: Answerer | None = None

    def __call__(self, job: Job) -> tuple[Mapping[str, Any], BatchOfTexts]:
        place: BatchPlace = job.payload
        if self.teacher is None or self.teacher.info.name != place.info.name:
            self.teacher = None  # its memory is needed
            self.teacher = place.info.load(self.reading)
        options, before, name = self.writer.options, self.writer.reads, place.info.name
        seed = key(options.seed, name, place.label, place.number)
        texts = self.writer.write(self.teacher, place.info.labels[place.label], options.batch_size, seed)
        return _identity_of(self.teacher), BatchOfTexts(self.writer.reads - before, texts)


def _identity_of(teacher: Answerer) -> dict[str, Any]:
    """What the texts that a teacher steered depend on: of a model its weights and its tokenizer."""
    made_of = teacher.made_of
    return {key: made_of[key] for key in ("weights", "tokenizer", "identity") if key in made_of}
