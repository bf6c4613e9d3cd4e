"""Collect the texts of many requests into batches, and compute them in one thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
BatchFunction = Callable[[Sequence[Item]], Sequence[Result | Exception]]
Observe = Callable[[int, float], None]


class QueueFull(Exception):
    """The queue has no place for this request."""


class Closed(Exception):
    """The batcher accepts no more requests."""


@dataclass
class _Job(Generic[Item]):
    """The items of one request. `future`: belongs to `loop`."""

    items: Sequence[Item]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    since: float


class Batcher(Generic[Item, Result]):
    """One thread that computes requests in batches, so that two threads never use a model at once.

    The items of a request stay in one batch. A batch begins when it is full, or when its first request has waited `max_wait` seconds.
    Requests are taken in the order in which they came.

    compute: the items of a batch → a result or an exception for each. max_batch: items per batch; a larger request has a batch of its
    own. max_queue: items that may wait. observe: called after each batch with its items and seconds. begin: called first in the thread.
    """

    def __init__(
        self,
        compute: BatchFunction[Item, Result],
        *,
        max_batch: int,
        max_wait: float,
        max_queue: int,
        observe: Observe,
        begin: Callable[[], None],
    ) -> None:
        self._compute, self._observe, self._begin = compute, observe, begin
        self.max_batch, self.max_wait, self.max_queue = max_batch, max_wait, max_queue
        self._jobs: deque[_Job[Item]] = deque()
        self._waiting = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="alloykit batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many items wait."""
        return self._waiting

    @property
    def alive(self) -> bool:
        """Whether the thread runs and accepts requests."""
        return self._thread.is_alive() and not self._closed

    async def submit(self, items: Sequence[Item]) -> list[Result | Exception]:
        """A result or an exception for each item, in their order. QueueFull if there is no place for all of them; Closed after `close`."""
        loop = asyncio.get_running_loop()
        size = max(1, len(items))
        with self._changed:
            if self._closed:
                raise Closed
            if self._waiting + size > self.max_queue:
                raise QueueFull
            job = _Job(items, loop, loop.create_future(), time.monotonic())
            self._jobs.append(job)
            self._waiting += size
            self._changed.notify()
        return list(await job.future)

    def close(self) -> None:
        """Accept nothing more, compute everything that was accepted, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        self._begin()
        while jobs := self._next():
            jobs = [job for job in jobs if not job.future.cancelled()]  # nobody waits for the cancelled ones
            if jobs:
                self._run(jobs)

    def _next(self) -> list[_Job[Item]]:
        """The requests of the next batch; none after `close`, once the queue is empty."""
        with self._changed:
            while not self._jobs and not self._closed:
                self._changed.wait()
            while self._jobs and not self._closed and self._waiting < self.max_batch:
                left = self._jobs[0].since + self.max_wait - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            taken: list[_Job[Item]] = []
            size = 0
            while self._jobs:
                job = self._jobs[0]
                if taken and size + len(job.items) > self.max_batch:
                    break
                taken.append(self._jobs.popleft())
                size += len(job.items)
                self._waiting -= max(1, len(job.items))
            return taken

    def _run(self, jobs: list[_Job[Item]]) -> None:
        items = [item for job in jobs for item in job.items]
        begun = time.perf_counter()
        try:
            results: list[Result | Exception] = list(self._compute(items))
        except Exception as error:
            results = [error] * len(items)
        self._observe(len(items), time.perf_counter() - begun)
        found: list[tuple[_Job[Item], list[Result | Exception]]] = []
        start = 0
        for job in jobs:
            found.append((job, results[start : start + len(job.items)]))
            start += len(job.items)
        _deliver(found)


def _deliver(found: list[tuple[_Job[Any], Any]]) -> None:
    """Give each request its result, in the thread of its event loop."""

    def settle(mine: list[tuple[_Job[Any], Any]]) -> None:
        for job, result in mine:
            if not job.future.done():
                job.future.set_result(result)

    for loop in {id(job.loop): job.loop for job, _ in found}.values():
        try:
            loop.call_soon_threadsafe(settle, [(job, result) for job, result in found if job.loop is loop])
        except RuntimeError:  # the loop is closed: nobody waits
            continue
