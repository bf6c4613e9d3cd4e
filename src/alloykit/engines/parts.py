"""Work on the parts of many items, in a stream: of a file, some thousand rows at a time. The results come in the order of items and parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from alloykit.errors import AlloyError

Parts = Callable[[Any], Iterable[Any]]
"""Reads the parts of an item."""
PartWorker = Callable[[Any], Any]
"""Does the work on a part. It keeps what it has loaded for the next part."""


class PartEngine(Protocol):
    """Does work on parts."""

    def stream(self, items: Sequence[Any], parts: Parts, worker: Callable[[], PartWorker]) -> Iterator[tuple[int, Any]]:
        """(position of an item, result of its next part), in order. worker: makes one. An AlloyError of a part is the part's result,
        and the last one of the stream. AlloyError also for what has nothing to do with a part."""
        ...


class LocalParts:
    """One worker, in this process."""

    def stream(self, items: Sequence[Any], parts: Parts, worker: Callable[[], PartWorker]) -> Iterator[tuple[int, Any]]:
        if not items:
            return
        do = worker()
        for n, item in enumerate(items):
            try:
                for part in parts(item):
                    yield n, do(part)
            except AlloyError as error:
                yield n, error
                return
