"""The options of a sweep for every teacher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from alloykit.teachers.protocol import Reading


@dataclass(frozen=True)
class SweepOptions(Reading):
    """How teachers read texts, and what is asked of them. `layers`: by teacher's name, the layers whose pooled states are kept. `part` = (i, n):
    this process takes every n-th shard, starting with the i-th. `engine`: a function of (store, teachers, texts, shards, these options) that
    computes what is missing instead of this process, as SweepBy of engines/ does."""

    passes: int = 0
    seed: int = 0
    part: tuple[int, int] = (0, 1)
    layers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    engine: Callable[..., None] | None = None
