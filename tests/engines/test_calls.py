"""How many jobs a worker gets in one call. The cluster here does every call at once, and says how long it took."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.engines import ray as engine
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job


class Names:
    """An object with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Lost(Exception):
    """A worker has ended."""


class Cluster:
    """What `_Work` uses of Ray. A call takes `seconds` per job."""

    exceptions = Names(RayActorError=Lost, ObjectLostError=Lost, RayTaskError=KeyError)

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, list[list[int]]()

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **resources: Any) -> Any:
        start = Names(remote=lambda: Names(found="node"))
        return lambda kind: Names(remote=lambda *_: Names(started=start, do=Names(remote=self._do)))

    def _do(self, jobs: list[Job]) -> Names:
        self.calls.append([job.payload for job in jobs])
        return Names(found=(self.seconds * len(jobs), [-job.payload for job in jobs]))

    def wait(self, refs: list[Names], **_: Any) -> tuple[list[Names], list[Names]]:
        return refs[:1], refs[1:]

    def get(self, ref: Names) -> Any:
        return ref.found

    def nodes(self) -> list[Any]:
        return []

    def kill(self, handle: Any) -> None:
        pass


def calls(cluster: Cluster, jobs: int = 400) -> list[list[int]]:
    """The calls that two workers got for so many jobs. Every job is done."""
    work = engine._Work(cluster, EngineOptions(name="ray", workers=2), [Job("a", n) for n in range(jobs)], lambda: None)  # type: ignore[arg-type, return-value]
    assert dict(work.results(lambda: None)) == {n: -n for n in range(jobs)}
    return cluster.calls


def test_a_call_has_as_many_short_jobs_as_fit_into_its_time() -> None:
    found = calls(Cluster(0.01))
    sizes = [len(call) for call in found]
    assert sizes[:2] == [1, 1], "nothing is known yet"
    assert max(sizes) == 25
    assert next(len(call) for call in found if 399 in call) == 1, "so that both workers end at the same time"
    assert sizes[4:] == sorted(sizes[4:], reverse=True)
    assert len(sizes) < 60


def test_long_jobs_have_a_call_each() -> None:
    assert all(len(call) == 1 for call in calls(Cluster(1.0), 20))


@pytest.mark.parametrize(
    ("there", "gpus", "cpus", "workers"),
    [
        ({"CPU": 8.0}, 0, 1, 8),
        ({"CPU": 8.0}, 0, 3, 2),
        ({"CPU": 2.0}, 0, 3, 1),
        ({"CPU": 64.0, "GPU": 2.0}, 0.5, 1, 4),
        ({"CPU": 64.0, "GPU": 7.0}, 0.14, 1, 50),
        ({"CPU": 64.0, "GPU": 3.0}, 2, 1, 1),
        ({"CPU": 64.0}, 1, 1, 1),
    ],
)
def test_as_many_workers_as_fit(there: dict[str, float], gpus: float, cpus: int, workers: int) -> None:
    """One at least: the cluster may still grow."""
    options = EngineOptions(name="ray", gpus_per_worker=gpus, cpus_per_worker=cpus)
    for jobs in (1, 60):
        cluster = Cluster(1.0)
        cluster.cluster_resources = lambda: there  # type: ignore[attr-defined]
        work = engine._Work(cluster, options, [Job("a", n) for n in range(jobs)], lambda: None)  # type: ignore[arg-type, return-value]
        assert len(work.actors) == min(workers, jobs)
