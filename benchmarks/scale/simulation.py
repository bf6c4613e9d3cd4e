"""A discrete-event model of a sweep by many workers: it predicts what cannot be measured here.

Measured are the driver's time for a unit, the time to write a unit, and how much the units' times differ. Assumed is what only a GPU cluster could tell.

Workers take units as `engines/ray.py` gives them out: of their teacher first, then of the teacher with the most units left. A unit is dispatched by the
driver (one after another), computed by a worker, and written to the storage, for which the worker waits: a disk writes one after another, an object
store any number at once. A worker may fail and then starts anew.
"""

from __future__ import annotations

import heapq
import pickle
import random
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from benchmarks.harness.sections import measured
from benchmarks.speed.measure import Measurement

TEXTS, TEACHERS, SHARD, GPUS = 10**9, 20, 8192, (8, 64, 512)
TEXTS_PER_SECOND = 4000.0  # assumed: a base-size teacher on short texts in bfloat16 on one H100
LABELS = 10  # assumed: of each teacher
OBJECT_STORE = 0.1  # assumed: seconds that an object store needs for a unit
# Assumed: failures per worker and hour on machines of one's own, and on spot machines.
CASES = (("disk", 0.01), ("object store", 0.01), ("object store", 0.2))
PRICE = 3.0  # assumed: dollars per GPU and hour


@dataclass(frozen=True)
class Cluster:
    """load: seconds to change a teacher. write: seconds of the storage for a unit. dispatch: seconds of the driver for a unit. failures: per
    worker and hour. start: seconds until a worker that failed is there again. parallel: whether the storage writes any number of units at once."""

    workers: int
    load: float = 20.0
    write: float = 0.002
    dispatch: float = 0.002
    failures: float = 0.01
    start: float = 300.0
    parallel: bool = False


def simulate(cluster: Cluster, units: Mapping[str, Sequence[float]], seed: int = 0) -> dict[str, Any]:
    """units: by teacher, the seconds that each of its units takes. Returns the seconds until all are written, and shares of busy time."""
    draw = random.Random(seed)
    left = {name: list(seconds) for name, seconds in units.items()}
    loaded: list[str | None] = [None] * cluster.workers
    on: dict[str, int] = dict.fromkeys(left, 0)
    events: list[tuple[float, int, str, int, float]] = [
        (0.0, worker, "free", 0, 0.0) for worker in range(cluster.workers)
    ]
    names, idle = list(left), list[int]()
    driver = storage = end = busy = wasted = 0.0
    failed = 0
    while events:
        now, worker, what, unit_of, seconds = heapq.heappop(events)
        if what == "computed":
            storage = (now if cluster.parallel else max(storage, now)) + cluster.write
            end = max(end, storage)
            heapq.heappush(events, (storage, worker, "free", 0, 0.0))
            continue
        if what == "failed":
            left[names[unit_of]].append(seconds)  # it is computed again
            on[names[unit_of]] -= 1
            loaded[worker] = None
            heapq.heappush(events, (now + cluster.start, worker, "free", 0, 0.0))
            for other in idle:
                heapq.heappush(events, (now, other, "free", 0, 0.0))
            idle = []
            continue
        name, load = loaded[worker], 0.0
        if name is None or not left[name]:
            if not any(left.values()):
                idle.append(worker)
                continue
            new = max((n for n in left if left[n]), key=lambda n: len(left[n]) / (1 + on[n]))
            if name is not None:
                on[name] -= 1
            on[new] += 1
            loaded[worker], name, load = new, new, cluster.load
        seconds = left[name].pop()
        driver = max(driver, now) + cluster.dispatch
        done = driver + load + seconds
        busy += seconds
        fails = bool(cluster.failures) and draw.random() < (load + seconds) * cluster.failures / 3600
        if fails:
            failed, wasted = failed + 1, wasted + seconds
        heapq.heappush(events, (done, worker, "failed" if fails else "computed", names.index(name), seconds))
    return {
        "seconds": end,
        "busy": round(busy / (end * cluster.workers), 3),
        "failed": failed,
        "wasted_seconds": round(wasted, 1),
    }


def run(data: Path, work: Path) -> dict[str, Any]:
    runs = measured("scale", "workers")
    if runs is None:
        raise SystemExit(
            "expected benchmarks/results/scale/workers.json: run `python -m benchmarks scale workers` first"
        )
    runs = runs["figures"]
    checks, sent = _checks(runs), _sending()
    one = runs["2 × 1"]
    dispatch = one["driver_seconds"] / _units(runs) + sent
    cluster = Cluster(1, write=_writing(work), dispatch=dispatch)
    per_teacher, unit = -(-TEXTS // SHARD), SHARD / TEXTS_PER_SECOND
    spread = _spread(one["units"])
    draw = random.Random(0)
    units = {
        f"teacher{t}": [max(0.1, draw.gauss(1, spread)) * unit for _ in range(per_teacher)] for t in range(TEACHERS)
    }
    ideal = sum(map(sum, units.values()))
    found = []
    for gpus in GPUS:
        for store, failures in CASES:
            at = replace(cluster, write=OBJECT_STORE, parallel=True) if store == "object store" else cluster
            each = simulate(replace(at, workers=gpus, failures=failures), units)
            hours = each["seconds"] / 3600
            found.append(
                {
                    "gpus": gpus, "store": store, "failures": failures, "hours": round(hours, 1), "dollars": round(hours * gpus * PRICE),
                    "busy": each["busy"], "failed": each["failed"], "efficiency": round(ideal / gpus / each["seconds"], 3),
                }
            )  # fmt: skip
    settings = {
        "texts": TEXTS,
        "teachers": TEACHERS,
        "shard": SHARD,
        "texts_per_second": TEXTS_PER_SECOND,
        "price": PRICE,
        "spread": round(spread, 3),
        "sending": round(sent, 4),
        "object_store": OBJECT_STORE,
        "saturates": {
            "driver": int(unit / cluster.dispatch),
            "storage": int(unit / cluster.write),
        },
    }
    return {"settings": settings | {"cluster": vars(cluster)}, "checks": checks, "clusters": found}


def _units(runs: Mapping[str, Any]) -> int:
    return int(runs["teachers"]) * -(-int(runs["texts"]) // int(runs["shard"]))


def _checks(runs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The seconds of two workers, measured, and simulated with the times of their own units, and of those of a single worker."""
    found, measured_seconds = [], runs["2 × 1"]["seconds"]
    for source in ("2 × 1", "1 × 1"):
        dispatch = runs[source]["driver_seconds"] / _units(runs)
        cluster = Cluster(2, load=0.0, write=runs["write_seconds"], dispatch=dispatch, failures=0.0)
        seconds = simulate(cluster, runs[source]["units"])["seconds"]
        found.append({"units_of": source, "measured": measured_seconds, "simulated": round(seconds, 2)})
    return found


def _spread(units: Mapping[str, Sequence[float]]) -> float:
    """The standard deviation of a unit's time, as a share of it, over the teachers."""
    return mean(stdev(times) / mean(times) for times in units.values())


def _sending() -> float:
    """The driver's seconds to read the texts of a unit, and to pickle them."""
    from alloykit.data import load_texts

    texts = load_texts([f"the customer of order {n} was charged twice and asks for a refund" for n in range(4 * SHARD)])
    times = []
    for n in range(4):
        begun = time.perf_counter()
        pickle.dumps(texts.table.take(range(n * SHARD, (n + 1) * SHARD), ["text"]))
        times.append(time.perf_counter() - begun)
    return median(times)


def _writing(work: Path) -> float:
    """The seconds that the local disk needs for a unit of `LABELS` labels, with its receipt."""
    import torch

    from alloykit.knowledge.store.store import Store

    store, times = Store(work / "writing"), []
    for n in range(20):
        begun = time.perf_counter()
        store.save(f"unit-{n}", {"logits": torch.zeros(SHARD, LABELS)})
        times.append(time.perf_counter() - begun)
    shutil.rmtree(work / "writing")
    return median(times)


TABLE = Measurement("simulation", "10⁹ texts × 20 teachers on 8, 64 and 512 GPUs, simulated", run, paper="scale")
