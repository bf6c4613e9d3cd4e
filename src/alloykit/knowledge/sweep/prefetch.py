"""Prefetch inputs and write results in other threads, so that tokenisation and the disk do not keep the processor waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar

T = TypeVar("T")
U = TypeVar("U")
WAITING = 4  # results that may wait for the disk


def prefetch(prepare: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
    """prepare(item) for each item, in order; while one is in use, the next is prepared in another thread."""
    with ThreadPoolExecutor(1, thread_name_prefix="alloykit-prefetch") as pool:
        following: Future[U] | None = None
        for item in items:
            current, following = following, pool.submit(prepare, item)
            if current is not None:
                yield current.result()
        if following is not None:
            yield following.result()


class WriteBehind:
    """Runs calls one after another in another thread, with at most `WAITING` in the queue. The first error is raised at the next call or
    at the end. At the end of the block all calls have finished, also if the block raises."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="alloykit-write")
        self._pending: deque[Future[Any]] = deque()

    def __call__(self, do: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._pending.append(self._pool.submit(do, *args, **kwargs))
        while len(self._pending) > WAITING or (self._pending and self._pending[0].done()):
            self._pending.popleft().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown(wait=True)  # also after an error of the block: what was computed is written
        while self._pending:
            future = self._pending.popleft()
            if kind is None:
                future.result()
