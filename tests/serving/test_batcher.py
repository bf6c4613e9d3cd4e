"""The queue of a server: which requests share a batch, in which order, and who gets which result."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from alloykit.serving.batcher import Batcher, Closed, QueueFull


class Doubling:
    """Doubles numbers. `open`: cleared, it waits before the next batch. `batches`: what it has got."""

    def __init__(self) -> None:
        self.open, self.begun, self.batches, self.observed = (
            threading.Event(),
            threading.Event(),
            list[Any](),
            list[int](),
        )
        self.open.set()

    def __call__(self, items: Sequence[int]) -> list[int | Exception]:
        self.begun.set()
        assert self.open.wait(20)
        self.batches.append(list(items))
        if 0 in items:
            raise ValueError("zero")
        return [2 * item for item in items]

    def batcher(self, max_batch: int = 5, max_wait: float = 0.0, max_queue: int = 50) -> Batcher[int, int]:
        observe: Callable[[int, float], None] = lambda n, seconds: self.observed.append(n)  # noqa: E731
        return Batcher(
            self, max_batch=max_batch, max_wait=max_wait, max_queue=max_queue, observe=observe, begin=lambda: None
        )

    async def busy(self, batcher: Batcher[int, int]) -> asyncio.Task[Any]:
        """A request that is being computed until `open` is set."""
        self.open.clear()
        task = asyncio.ensure_future(batcher.submit([1]))
        while not self.begun.is_set():
            await asyncio.sleep(0.001)
        return task


def submitted(batcher: Batcher[int, int], *requests: Sequence[int]) -> list[asyncio.Task[Any]]:
    return [asyncio.ensure_future(batcher.submit(request)) for request in requests]


def test_requests_share_batches_in_their_order_and_are_not_divided() -> None:
    doubling = Doubling()
    batcher = doubling.batcher()

    async def ask() -> list[Any]:
        first = await doubling.busy(batcher)
        tasks = submitted(batcher, [2, 3, 4], [5, 6], [], [7] * 4, [8] * 7, [9], [10])
        await asyncio.sleep(0)
        assert batcher.waiting == 19, "a request without items takes a place too"
        doubling.open.set()
        return await asyncio.gather(first, *tasks)

    found = asyncio.run(ask())
    assert found == [[2], [4, 6, 8], [10, 12], [], [14] * 4, [16] * 7, [18], [20]]
    assert doubling.batches == [[1], [2, 3, 4, 5, 6], [7] * 4, [8] * 7, [9, 10]]
    batcher.close()
    assert doubling.observed == [1, 5, 4, 7, 2]
    assert (batcher.waiting, batcher.alive) == (0, False)


def test_a_batch_waits_until_it_is_full_or_its_first_request_has_waited_enough() -> None:
    doubling = Doubling()

    async def ask(batcher: Batcher[int, int]) -> float:
        begun = time.perf_counter()
        first = submitted(batcher, [1, 2])
        await asyncio.sleep(0.05)
        await asyncio.gather(*first, *submitted(batcher, [3]))
        return time.perf_counter() - begun

    full, early = doubling.batcher(max_batch=3, max_wait=30), doubling.batcher(max_batch=4, max_wait=0.2)
    assert asyncio.run(ask(full)) < 10
    assert 0.15 < asyncio.run(ask(early)) < 10
    assert doubling.batches == [[1, 2, 3]] * 2
    waits, begun = doubling.batcher(max_wait=30), time.perf_counter()
    threading.Timer(0.05, waits.close).start()
    assert asyncio.run(waits.submit([4])) == [8]
    assert time.perf_counter() - begun < 10, "a server that stops waits for no more requests"


def test_each_item_of_a_batch_that_fails_gets_the_exception() -> None:
    doubling = Doubling()
    batcher = doubling.batcher()
    failed = asyncio.run(batcher.submit([0, 1]))
    assert [str(each) for each in failed] == ["zero", "zero"]
    assert asyncio.run(batcher.submit([2])) == [4], "the thread goes on"
    assert doubling.observed == [2, 1]


def test_a_full_queue_a_request_that_is_given_up_and_the_end() -> None:
    doubling = Doubling()
    batcher = doubling.batcher(max_queue=3)

    async def ask() -> None:
        first = await doubling.busy(batcher)
        given_up, kept = submitted(batcher, [2, 3], [4])
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await batcher.submit([5])
        given_up.cancel()
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        while batcher.alive:
            await asyncio.sleep(0.001)
        with pytest.raises(Closed):
            await batcher.submit([6])
        doubling.open.set()
        await closing
        assert await asyncio.gather(first, kept) == [[2], [8]], "what was accepted is computed"

    asyncio.run(ask())
    assert doubling.batches == [[1], [4]]
