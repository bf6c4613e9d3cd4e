"""Stream the parts of many items through Ray Data: tasks read them, actors work on them, and the results come back in order.

Ray Data starts and replaces actors, repeats what a lost node held, and reads no faster than the results are taken, so that memory stays flat.
Each part is one row of its data set. So a part is never split or joined, and has the same result as in one process.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import pyarrow as pa

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.parts import Parts, PartWorker
from alloykit.engines.ray import LOST, connected, reached
from alloykit.errors import AlloyError
from alloykit.progress import set_quiet

READERS = 4  # items that are read at once
SCHEMA = pa.schema({"item": pa.int64(), "value": pa.large_binary()})


class RayDataParts:
    """Workers of a Ray cluster."""

    def __init__(self, options: EngineOptions) -> None:
        self.options = options

    def stream(self, items: Sequence[Any], parts: Parts, worker: Callable[[], PartWorker]) -> Iterator[tuple[int, Any]]:
        """AlloyError without Ray and without a cluster."""
        if not items:
            return
        ray = connected(self.options)
        import_module("ray.data")  # `import ray` does not
        options, most = self.options, self.options.workers
        with _settings(ray), reached(ray):
            dataset = (
                ray.data.from_arrow([_row(n, item) for n, item in enumerate(items)])
                .map_batches(
                    _Reader(parts, os.getcwd()), batch_size=1, batch_format="pyarrow", num_cpus=0,
                    compute=ray.data.TaskPoolStrategy(size=min(READERS, len(items))),
                )
                .map_batches(
                    _Answerer, fn_constructor_args=(worker, options.cpus_per_worker, os.getcwd()), batch_size=1,
                    batch_format="pyarrow", num_cpus=options.cpus_per_worker, num_gpus=options.gpus_per_worker or None,
                    compute=ray.data.ActorPoolStrategy(min_size=1, max_size=most), max_task_retries=LOST,
                )
            )  # fmt: skip
            for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for n, value in zip(table["item"].to_pylist(), table["value"].to_pylist(), strict=True):
                    found = pickle.loads(value)
                    yield n, found
                    if isinstance(found, AlloyError):
                        return


@contextmanager
def _settings(ray: Any) -> Iterator[None]:
    """Ray Data's settings while the block runs: order kept, one part a block, nothing printed."""
    context, logger = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    wanted: list[tuple[Any, str, Any]] = [
        (context, "enable_progress_bars", False),
        (context, "print_on_execution_start", False),
        (context, "target_max_block_size", 1),
        (context.execution_options, "preserve_order", True),
    ]
    before, level = [(holder, name, getattr(holder, name, None)) for holder, name, _ in wanted], logger.level
    for holder, name, value in wanted:
        setattr(holder, name, value)
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for holder, name, value in before:
            setattr(holder, name, value)
        logger.setLevel(level)


class _Reader:
    """A task: the parts of an item. An error is its last part."""

    def __init__(self, parts: Parts, folder: str) -> None:
        self.parts, self.folder = parts, folder

    def __call__(self, table: Any) -> Iterable[Any]:
        _move_to(self.folder)
        for n, value in zip(table["item"].to_pylist(), table["value"].to_pylist(), strict=True):
            try:
                for part in self.parts(pickle.loads(value)):
                    yield _row(n, part)
            except AlloyError as error:
                yield _row(n, error)


class _Answerer:
    """An actor."""

    def __init__(self, worker: Callable[[], PartWorker], threads: int, folder: str) -> None:
        set_quiet(True)
        _move_to(folder)
        self.make, self.threads = worker, threads
        self.work: PartWorker | None = None

    def __call__(self, table: Any) -> Any:
        (n,), (value,) = table["item"].to_pylist(), table["value"].to_pylist()
        part = pickle.loads(value)
        return _row(n, part if isinstance(part, AlloyError) else self._answer(part))

    def _answer(self, part: Any) -> Any:
        try:
            if self.work is None:
                self.work = self.make()
                if "torch" in sys.modules:
                    sys.modules["torch"].set_num_threads(self.threads)
            return self.work(part)
        except AlloyError as error:
            return error


def _row(item: int, value: Any) -> Any:
    return pa.table([[item], [pickle.dumps(value)]], schema=SCHEMA)


def _move_to(folder: str) -> None:
    """So that relative paths name the same files, where this machine has them."""
    with suppress(OSError):
        os.chdir(folder)
