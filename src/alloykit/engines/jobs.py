"""Jobs (units of work), and the interface of an engine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """One unit of work. `key`: what its worker must have loaded, for instance a teacher's name. `size`: how much progress it makes.

    A job may be done twice, or again after its worker was lost. So it must be safe to repeat."""

    key: str
    payload: Any
    size: int = 1


Worker = Callable[[Job], Any]
"""Does a job and returns its result. It keeps what it has loaded for the next job of the same key."""


class JobEngine(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        """(position of a job, its result), in the order in which jobs finish. worker: makes one. what, unit: for the progress bar."""
        ...
