"""Which worker gets which job, and what happens if one is lost or slow. The cluster here does what a test says, step by step."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from alloykit.engines import ray as engine
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job
from alloykit.errors import AlloyError

TWO = EngineOptions(name="ray", workers=2)


class Lost(Exception):
    """A worker has ended."""


class Errors:
    RayActorError = ObjectLostError = Lost
    RayTaskError = KeyError


class Call:
    """A call of a worker: its start, which has no jobs, or some jobs."""

    def __init__(self, worker: Worker, jobs: list[Job]) -> None:
        self.worker, self.jobs, self.names = worker, jobs, [job.payload for job in jobs]


class Worker:
    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster, self.number = cluster, number
        self.started = self.do = self  # both have `remote`

    def remote(self, jobs: list[Job] | None = None) -> Call:
        call = Call(self, jobs or [])
        if jobs is not None:
            self.cluster.given.append((self.number, call.names))
            self.cluster.open.append(call)
            self.cluster.watch(call)
        return call


class Cluster:
    """What `_Work` uses of Ray. next: of the calls that have not ended, the one that ends next. fails: whether its worker ends with it.
    watch: called with each new call."""

    exceptions = Errors

    def __init__(
        self,
        next: Callable[[list[Call]], Call] = lambda calls: calls[0],
        fails: Callable[[Call], bool] = lambda call: False,
        watch: Callable[[Call], None] = lambda call: None,
        *,
        seconds: float = 1.0,
        gone: bool = False,
    ) -> None:
        self.next, self.fails, self.watch, self.seconds, self.gone = next, fails, watch, seconds, gone
        self.given, self.open, self.workers = list[tuple[int, list[Any]]](), list[Call](), list[Worker]()
        self.killed, self.dead, self.waited, self.room = list[int](), set[int](), list[Any](), 2.0

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **resources: Any) -> Any:
        return lambda kind: SimpleNamespace(remote=self.start)

    def start(self, *_: Any) -> Worker:
        self.workers.append(Worker(self, len(self.workers)))
        return self.workers[-1]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.room}

    def wait(self, calls: list[Call], num_returns: int, timeout: float) -> tuple[list[Call], list[Call]]:
        if num_returns != 1:
            self.waited.append((len(calls), timeout))
            return calls, []
        return [self.next(calls)], []

    def get(self, call: Call) -> Any:
        if call in self.open:
            self.open.remove(call)
        if call.worker.number in self.dead or self.fails(call):
            self.dead.add(call.worker.number)
            raise Lost("it was killed")
        return (self.seconds * len(call.jobs), [f"done {name}" for name in call.names]) if call.jobs else "node"

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": "node", "Alive": not self.gone}, {"NodeID": "other", "Alive": False}]

    def kill(self, worker: Worker) -> None:
        self.killed.append(worker.number)


def run(cluster: Cluster, keys: str, options: EngineOptions = TWO) -> list[tuple[int, Any]]:
    """The results of jobs with these keys, in the order in which they came; job n is called n."""
    jobs = [Job(key, n) for n, key in enumerate(keys)]
    work = engine._Work(cluster, options, jobs, lambda: None)  # type: ignore[arg-type, return-value]
    found = list(work.results(lambda: None))
    assert sorted(found) == [(n, f"done {n}") for n in range(len(keys))], "each once"
    work.end()
    return found


def first(wanted: Callable[[Call], bool]) -> Callable[[list[Call]], Call]:
    """The first call that is wanted; if there is none, the test fails, because nothing would end."""
    return lambda calls: next(call for call in calls if wanted(call))


def of(cluster: Cluster, worker: int) -> list[Any]:
    """The jobs that a worker got."""
    return [name for number, names in cluster.given for name in names if number == worker]


@pytest.mark.parametrize(
    ("keys", "second"), [("a" * 10 + "b" * 6, 10), ("a" * 10 + "b" * 4, 1), ("b" * 6 + "a" * 10, 0)]
)
def test_a_worker_gets_the_key_with_the_most_jobs_per_worker(keys: str, second: int) -> None:
    cluster = Cluster()
    run(cluster, keys)
    assert keys[of(cluster, 0)[0]] == "a"
    assert of(cluster, 1)[0] == second if second != 1 else keys[of(cluster, 1)[0]] == "a"


def test_one_call_runs_and_one_waits_for_the_same_key() -> None:
    """A worker changes its key only if its queue is empty, and only when it is free."""
    keys = "aaaabbbbbcc"

    def check(call: Call) -> None:
        mine = [each for each in cluster.open if each.worker is call.worker]
        most.append(len(mine))
        assert len({keys[name] for each in mine for name in each.names}) == 1

    most = list[int]()
    cluster = Cluster(watch=check)
    run(cluster, keys, EngineOptions(name="ray", workers=1))
    assert max(most) == 2
    assert "".join(keys[name] for name in of(cluster, 0)) == "bbbbbaaaacc"


def test_a_worker_with_another_key_begins_with_one_job() -> None:
    """What is known about the jobs of the first key says nothing about the second one."""
    cluster = Cluster(seconds=0.01)
    run(cluster, "a" * 200 + "b" * 199, EngineOptions(name="ray", workers=1))
    sizes = [len(names) for _, names in cluster.given if names[0] >= 200]
    assert sizes[:2] == [1, 1]
    assert max(sizes) == 25


def test_a_free_worker_repeats_the_job_of_a_slow_one() -> None:
    """One does so, and none that has something else to do."""
    cluster = Cluster(first(lambda call: not call.jobs or call.worker.number > 0))
    run(cluster, "aaaaaa", EngineOptions(name="ray", workers=3))
    assert of(cluster, 0) == [0, 1]
    given = [name for _, names in cluster.given for name in names]
    assert [given.count(name) for name in range(6)] == [2, 2, 1, 1, 1, 2], (
        "worker 1 repeats job 5 too, before it has ended"
    )


def in_order(*wanted: tuple[int, list[int]]) -> Callable[[list[Call]], Call]:
    """The calls end in this order: the worker, and its jobs; none for its start."""
    left = list(wanted)

    def next_one(calls: list[Call]) -> Call:
        worker, names = left.pop(0)
        return next(call for call in calls if call.worker.number == worker and call.names == names)

    return next_one


def test_the_first_result_of_a_repeated_job_counts() -> None:
    """Worker 1 ends with job 3 after worker 0 has repeated it, while job 2 still runs."""
    run(Cluster(in_order((0, []), (1, []), (0, [0]), (0, [1]), (0, [3]), (1, [3]), (1, [2]))), "aaaa")


def test_jobs_of_a_lost_worker_come_first_and_in_order() -> None:
    cluster = Cluster(fails=lambda call: call.worker.number == 0 and 2 in call.names)
    run(cluster, "a" * 8, EngineOptions(name="ray", workers=1))
    assert [of(cluster, n) for n in (0, 1)] == [[0, 1, 2, 3], [2, 3, 4, 5, 6, 7]]
    assert cluster.killed[0] == 0, "it may be alive, but out of reach"


def test_after_a_loss_each_job_of_the_worker_has_a_call_of_its_own() -> None:
    """So that it is known which job ends workers."""
    cluster = Cluster(fails=lambda call: 100 in call.names and len(call.names) > 1, seconds=0.01)
    run(cluster, "a" * 400)
    lost = next(n for n, (_, names) in enumerate(cluster.given) if 100 in names)
    jobs = {name for worker, names in cluster.given[lost:] for name in names if worker == cluster.given[lost][0]}
    assert len(jobs) > 30
    again = [names for worker, names in cluster.given if worker != cluster.given[lost][0] and jobs & set(names)]
    assert sorted(again) == [[name] for name in sorted(jobs)]


@pytest.mark.parametrize("ended", [False, True])
def test_a_job_that_another_worker_repeats_is_not_given_out_again(ended: bool) -> None:
    """Worker 0 is lost with jobs 0 and 1, while worker 1 repeats job 1, or after that."""
    begun, repeated = [(0, list[int]()), (1, list[int]()), (1, [2]), (1, [3])], [(1, [1])]
    rest = [*repeated, (0, [0]), (1, [0])] if ended else [(0, [0]), *repeated, (1, [0])]
    cluster = Cluster(in_order(*begun, *rest), fails=lambda call: call.worker.number == 0 and call.names == [0])
    run(cluster, "aaaa")
    given = sorted(name for _, names in cluster.given for name in names)
    assert given == [0, 0, 1, 1, 2, 3]


def test_a_job_that_ends_several_workers_is_an_error() -> None:
    cluster = Cluster(fails=lambda call: 3 in call.names)
    with pytest.raises(AlloyError, match="4 workers that ended at the same job; the last one: 'it was killed'"):
        run(cluster, "a" * 6, EngineOptions(name="ray", workers=1))
    assert [names for _, names in cluster.given].count([3]) == 4


def test_workers_that_end_at_different_jobs_or_with_their_machine_are_no_error() -> None:
    left = list(range(8))

    def fails(call: Call) -> bool:
        return bool(call.names) and call.names[0] in left and not left.remove(call.names[0])

    run(Cluster(fails=fails), "a" * 8, EngineOptions(name="ray", workers=1))
    assert not left
    times = [9]

    def often(call: Call) -> bool:
        times[0] -= call.names == [1]
        return call.names == [1] and times[0] > 0

    run(Cluster(fails=often, gone=True), "aaa", EngineOptions(name="ray", workers=1))
    assert times[0] == 0


def test_workers_that_end_before_they_start_are_an_error() -> None:
    """Unless one has started in between."""
    with pytest.raises(AlloyError, match="4 workers that ended before they had a job"):
        run(
            Cluster(fails=lambda call: call.worker.number > 0 or bool(call.jobs)),
            "aaa",
            EngineOptions(name="ray", workers=1),
        )
    cluster = Cluster(
        fails=lambda call: call.worker.number % 3 < 2 if not call.jobs else call.names[0] * 3 + 2 > call.worker.number
    )
    run(cluster, "aaaa", EngineOptions(name="ray", workers=1))
    assert len(cluster.workers) > 9


def test_a_lost_worker_is_replaced_if_there_is_room() -> None:
    for room, workers in ((2.0, 3), (1.0, 2)):
        cluster = Cluster(fails=lambda call: call.worker.number == 0 and bool(call.jobs))
        cluster.watch = lambda call, c=cluster, r=room: setattr(c, "room", r)  # type: ignore[misc]
        run(cluster, "aaaa", EngineOptions(name="ray"))
        assert len(cluster.workers) == workers


def test_more_workers_start_when_the_cluster_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are jobs left for. The cluster is asked every few seconds."""
    now, asked = [0.0], list[float]()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    cluster = Cluster()
    resources = cluster.cluster_resources

    def watched(calls: list[Call]) -> Call:
        now[0] += 1
        cluster.room = 2.0 if now[0] < 12 else 6.0
        return calls[0]

    cluster.next = watched
    cluster.cluster_resources = lambda: asked.append(now[0]) or resources()  # type: ignore[method-assign, func-returns-value]
    run(cluster, "a" * 25, EngineOptions(name="ray"))
    assert len(cluster.workers) == 6
    assert asked[:4] == [0, 5, 10, 15]


def test_a_message_says_that_no_worker_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for begins, said in ((100.0, 1), (50.0, 0)):
        now = [0.0]
        monkeypatch.setattr("time.monotonic", lambda now=now: now[0])
        cluster = Cluster()

        def wait(calls: list[Call], num_returns: int, timeout: float, now: Any = now, begins: float = begins) -> Any:
            now[0] += 10
            return ([] if now[0] < begins else calls[:1]), []

        cluster.wait = wait  # type: ignore[method-assign]
        run(cluster, "aaaaaaaaa", EngineOptions(name="ray", workers=12))
        assert len(cluster.workers) == 9, "as many as there were jobs, also while they wait"
        assert capsys.readouterr().err.count("no worker has started yet") == said


def test_at_the_end_all_workers_end() -> None:
    cluster = Cluster(first(lambda call: not call.jobs or call.worker.number > 0))
    run(cluster, "aaaa")
    assert cluster.killed == [0, 1]
    assert cluster.waited == [(2, engine.ENDING)], "the calls of the slow worker"


def test_no_jobs_need_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "connected", lambda options: pytest.fail("it connects"))
    assert list(engine.RayEngine(TWO).run([], lambda: None, "work", "jobs")) == []  # type: ignore[arg-type, return-value]
