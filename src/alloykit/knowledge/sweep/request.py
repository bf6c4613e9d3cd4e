"""The options of a sweep for every teacher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from alloykit.models.compute_format import ComputeFormat
from alloykit.models.long_texts import LongTexts
from alloykit.teachers.protocol import Reading


@dataclass(frozen=True)
class SweepOptions:
    """`layers`: by teacher's name, the layers whose pooled states are kept. `part` = (i, n): this process takes every n-th shard, starting
    with the i-th. `salt`: of the ids of texts. `engine`: a function of (store, teachers, texts, shards, these options) that computes what is
    missing instead of this process, as SweepBy of engines/ does."""

    passes: int = 0
    dropout: float | None = None
    max_length: int = 128
    long_texts: LongTexts | None = None
    seed: int = 0
    tokens_per_batch: int = 4096
    device: str = "auto"
    part: tuple[int, int] = (0, 1)
    compute_format: ComputeFormat = field(default_factory=ComputeFormat)
    layers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    engine: Callable[..., None] | None = None
    salt: str = field(default="", repr=False)

    def reading(self, *, folder: str | None = None, sampler: Any = None) -> Reading:
        """How a teacher is loaded for this sweep."""
        return Reading(
            max_length=self.max_length,
            long_texts=self.long_texts,
            device=self.device,
            compute_format=self.compute_format,
            tokens_per_batch=self.tokens_per_batch,
            dropout=self.dropout,
            sampler=sampler,
            folder=folder,
            salt=self.salt,
        )
