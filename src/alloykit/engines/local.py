"""All jobs in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from alloykit.engines.jobs import Job, Worker
from alloykit.progress import bar


class LocalEngine:
    """One worker, in this process."""

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        """Results in the order of the jobs."""
        if not jobs:
            return
        do = worker()
        with bar(what, sum(job.size for job in jobs), unit) as advance:
            for n, job in enumerate(jobs):
                yield n, do(job)
                advance(job.size)
