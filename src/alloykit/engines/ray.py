"""Run jobs on the workers of a Ray cluster.

A worker keeps what one key needs in memory (a teacher). It gets jobs of that key as long as there are any, then jobs of the key with the most jobs
per worker. Every worker has one running call and one waiting call. A call is one job, or several short ones, because a call costs the driver
milliseconds. The jobs of a lost worker go back to the front of the queue. When the queue is empty, a free worker repeats a job that another one has
not finished. The first result counts. Workers may come and go: another one starts in the place of a lost one, and more start when the cluster grows.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job, Worker
from alloykit.errors import AlloyError
from alloykit.progress import bar, log_line, set_quiet

DEPTH = 2  # calls of a worker: one runs, one waits
TOGETHER = 0.25  # seconds of work in one call, if the jobs are shorter: what a lost worker costs at most, with one more job, is twice this
LOST = 4  # an error, if so many workers ended at one job, or before any could start. Workers whose node has gone do not count
SECONDS = 0.5  # between checks for interrupts
STARTING = -1  # stands for a job of a worker that has none yet
ENDING = 5.0  # seconds for the end of killed workers
GROWTH = 5.0  # seconds between checks whether the cluster has room for more workers
PATIENCE = 60.0  # seconds without a worker before a message is printed


class RayEngine:
    """Workers of a Ray cluster."""

    def __init__(self, options: EngineOptions) -> None:
        self.options = options

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        """Results in the order in which jobs finish. AlloyError without Ray, without a cluster, and if one job ends several workers."""
        if not jobs:
            return
        ray = connected(self.options)
        with reached(ray):
            work = _Work(ray, self.options, jobs, worker)
        try:
            with bar(what, sum(job.size for job in jobs), unit) as advance:
                found = work.results(lambda: advance(0))
                while True:
                    with reached(ray):
                        one = next(found, None)
                    if one is None:
                        break
                    yield one
                    advance(jobs[one[0]].size)
        finally:
            work.end()


def connected(options: EngineOptions) -> Any:
    """Ray, connected to the cluster. AlloyError."""
    try:
        import ray
    except ImportError as error:
        raise AlloyError(
            expected="Ray, for `engine: ray`", got="no package of this name", hint="pip install 'alloykit[ray]'"
        ) from error
    if not ray.is_initialized():
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its own lines about lost workers; the files have them
        try:
            ray.init(
                address=options.address, log_to_driver=False, logging_level="error", include_dashboard=False,
                configure_logging=False, _skip_env_hook=True,
            ) if options.address is None else ray.init(
                address=options.address, log_to_driver=False, logging_level="error"
            )  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise AlloyError(
                expected=f"a Ray cluster at {options.address or 'this machine'}",
                got=f"'{str(error).splitlines()[0]}'",
                hint="Start one with `ray start --head`, or leave out `address` for one on this machine.",
            ) from error
    return ray


@contextmanager
def reached(ray: Any) -> Iterator[None]:
    """Errors of the cluster itself become an AlloyError."""
    try:
        yield
    except (ray.exceptions.RayTaskError, ray.exceptions.UserCodeException):  # errors of the work, with their tracebacks
        raise
    except ray.exceptions.RayError as error:
        raise AlloyError(
            expected="a Ray cluster that runs until the end of the command",
            got=f"'{str(error).strip().splitlines()[0]}'",
            hint="Check the cluster, and run the same command again: finished parts are kept.",
        ) from error


@dataclass(eq=False)
class _Actor:
    handle: Any
    node: str | None = None  # known when it has started
    started: bool = False
    key: str | None = None
    calls: list[list[int]] = field(default_factory=list)
    seconds: float | None = None  # per job of its key, in the last call

    @property
    def jobs(self) -> list[int]:
        return [n for call in self.calls for n in call]


class _Work:
    """The state of one `run`."""

    def __init__(self, ray: Any, options: EngineOptions, jobs: Sequence[Job], worker: Callable[[], Worker]) -> None:
        self.ray, self.options, self.jobs = ray, options, jobs
        self.queues: dict[str, deque[int]] = {}
        for n, job in enumerate(jobs):
            self.queues.setdefault(job.key, deque()).append(n)
        self.done: set[int] = set()
        self.lost: dict[int, int] = {}
        # Jobs of lost workers, which are first in their queues: each gets a call of its own, so that it is known which one ends workers.
        self.alone: set[int] = set()
        self.flying: dict[Any, tuple[_Actor, list[int]]] = {}  # no jobs: the worker starts
        self.worker = ray.put(worker)
        self.looked = time.monotonic()
        resources = {"num_cpus": options.cpus_per_worker, "num_gpus": options.gpus_per_worker}
        self.kind = ray.remote(**resources, max_restarts=0)(_RayWorker)
        self.actors = [self._start() for _ in range(min(self._wanted(), len(jobs)))]

    def _wanted(self) -> int:
        if self.options.workers is not None:
            return self.options.workers
        there, gpus = self.ray.cluster_resources(), self.options.gpus_per_worker
        room = there.get("GPU", 0) / gpus if gpus else there.get("CPU", 1) / self.options.cpus_per_worker
        return max(1, int(room + 1e-6))  # 7 / 0.14 is less than 50

    def _grow(self) -> None:
        """More workers, if the cluster has got room for more since the last look."""
        now = time.monotonic()
        if self.options.workers is not None or now - self.looked < GROWTH:
            return
        self.looked = now
        left = sum(map(len, self.queues.values()))
        for _ in range(min(self._wanted() - len(self.actors), left)):
            self.actors.append(self._start())

    def _start(self) -> _Actor:
        actor = _Actor(self.kind.remote(self.worker, self.options.cpus_per_worker, os.getcwd()))
        self.flying[actor.handle.started.remote()] = actor, []
        return actor

    def results(self, look: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """(position of a job, its result), in the order in which jobs finish. look: called at least twice a second."""
        begun, warned = time.monotonic(), False
        while len(self.done) < len(self.jobs):
            self._grow()
            for actor in self.actors:
                self._feed(actor)
            ready, _ = self.ray.wait(list(self.flying), num_returns=1, timeout=SECONDS)
            for ref in ready:
                yield from self._taken(ref)
            look()
            if not warned and time.monotonic() - begun > PATIENCE and not any(actor.started for actor in self.actors):
                warned = True
                log_line(
                    "ray: no worker has started yet. Check that the cluster has room for `cpus_per_worker` and `gpus_per_worker`"
                )

    def _feed(self, actor: _Actor) -> None:
        while actor.started and len(actor.calls) < DEPTH:
            call = self._next(actor)
            if not call:
                return
            actor.calls.append(call)
            self._set_key(actor, self.jobs[call[0]].key)
            self.flying[actor.handle.do.remote([self.jobs[n] for n in call])] = actor, call

    def _set_key(self, actor: _Actor, key: str) -> None:
        if actor.key != key:
            actor.key, actor.seconds = key, None

    def _next(self, actor: _Actor) -> list[int]:
        """The jobs of an actor's next call; none if it has to wait or to end."""
        if actor.key is None or not self.queues.get(actor.key):
            left = [key for key, queue in self.queues.items() if queue]
            if not left:
                return self._to_repeat(actor)
            if actor.calls:  # it changes its key when it is free, so that no job waits for a change
                return []
            busy = [other.key for other in self.actors if other is not actor]
            self._set_key(actor, max(left, key=lambda key: len(self.queues[key]) / (1 + busy.count(key))))
        assert actor.key is not None
        queue = self.queues[actor.key]
        call = [queue.popleft()]
        while queue and len(call) < self._together(actor, len(queue)) and call[0] not in self.alone:
            call.append(queue.popleft())
        return call

    def _together(self, actor: _Actor, left: int) -> int:
        """How many jobs a call should have. Few when few are left, so that all workers end at the same time."""
        if not actor.seconds:
            return 1
        return min(int(TOGETHER / actor.seconds), left // (DEPTH * len(self.actors)))

    def _to_repeat(self, actor: _Actor) -> list[int]:
        """A job that another worker has not finished and that no worker repeats yet; none if this worker has jobs."""
        if actor.calls:
            return []
        at_work = [n for other in self.actors for n in other.jobs if n not in self.done]
        once = [n for n in at_work if at_work.count(n) == 1]
        return once[-1:]

    def _taken(self, ref: Any) -> Iterator[tuple[int, Any]]:
        actor, call = self.flying.pop(ref)
        try:
            result = self.ray.get(ref)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            self._lose(actor, error)  # a result is lost with the node that holds it
            return
        except self.ray.exceptions.RayTaskError as error:
            raise _cause(error) from error
        if not call:
            actor.started, actor.node = True, result
            self.lost.pop(STARTING, None)
            return
        actor.calls.remove(call)
        seconds, results = result
        actor.seconds = seconds / len(call)
        for n, one in zip(call, results, strict=True):
            if n not in self.done:
                self.done.add(n)
                yield n, one

    def _lose(self, actor: _Actor, error: Exception) -> None:
        """A worker has ended: its jobs go back, and another worker starts."""
        self.actors.remove(actor)
        self.flying = {ref: place for ref, place in self.flying.items() if place[0] is not actor}
        again = [n for n in actor.jobs if n not in self.done and all(n not in other.jobs for other in self.actors)]
        self.alone.update(again)
        for n in reversed(again):
            self.queues[self.jobs[n].key].appendleft(n)
        if self._has_node(actor):
            self._count(actor, error)
        self._kill(actor)  # it may be alive, but out of reach
        log_line(f"ray: a worker was lost; other workers get its {len(again)} jobs")
        if self.options.workers is not None or len(self.actors) < self._wanted():
            self.actors.append(self._start())

    def _has_node(self, actor: _Actor) -> bool:
        """Whether the node of a lost worker is still there, or never was known."""
        gone = {node["NodeID"] for node in self.ray.nodes() if not node["Alive"]}
        return actor.node not in gone

    def _count(self, actor: _Actor, error: Exception) -> None:
        """AlloyError if too many workers ended at one job, or before they had started."""
        costly = actor.calls[0][0] if actor.calls else STARTING
        self.lost[costly] = self.lost.get(costly, 0) + 1
        if self.lost[costly] >= LOST:
            where = "at the same job" if actor.calls else "before they had a job"
            raise AlloyError(
                expected="workers that stay until the end of a job",
                got=f"{LOST} workers that ended {where}; the last one: '{str(error).splitlines()[0]}'",
                hint="Their memory may be too small. Lower `inference: {tokens_per_batch: …}`, or start fewer workers.",
            ) from error

    def _kill(self, actor: _Actor) -> None:
        with suppress(Exception):  # nothing depends on it
            self.ray.kill(actor.handle)

    def end(self) -> None:
        """End all workers. Some may still run jobs that were repeated. Returns when these have ended, or after some seconds."""
        for actor in self.actors:
            self._kill(actor)
        with suppress(Exception):
            self.ray.wait(list(self.flying), num_returns=len(self.flying), timeout=ENDING)


class _RayWorker:
    """Lives in a process of the cluster."""

    def __init__(self, worker: Callable[[], Worker], threads: int, folder: str) -> None:
        set_quiet(True)
        with suppress(OSError):  # so that relative paths name the same files, where this machine has them
            os.chdir(folder)
        self.make, self.threads = worker, threads

    def started(self) -> str:
        """Its node, when the worker is there. An error here is that of the command; one in `__init__` would count as a lost worker."""
        import ray

        self.work = self.make()
        if "torch" in sys.modules:  # which takes seconds to import, and not every worker needs it
            sys.modules["torch"].set_num_threads(self.threads)
        return str(ray.get_runtime_context().get_node_id())

    def do(self, jobs: list[Job]) -> tuple[float, list[Any]]:
        """The seconds that the jobs took, and their results."""
        begun = time.perf_counter()
        results = [self.work(job) for job in jobs]
        return time.perf_counter() - begun, results


def _cause(error: Any) -> Exception:
    """An AlloyError as it was raised in the worker; anything else with the worker's traceback."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, AlloyError):
        return AlloyError(expected=cause.expected, got=cause.got, hint=cause.hint)
    return error  # type: ignore[no-any-return]
