"""A discrete-event model of a sweep by many workers: it predicts what cannot be measured here.

Workers take units as `engines/ray.py` gives them out: of their teacher first, then of the teacher with the most units left. A unit is dispatched by the
driver (one after another), computed by a worker, and written to the storage (one after another). A worker may fail and then starts anew.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement

TEXTS, TEACHERS, SHARD, GPUS = 10**9, 20, 8192, (8, 64, 512)
TEXTS_PER_SECOND = 4000.0  # assumed: a base-size teacher on short texts in bfloat16 on one H100
SPREAD = 0.1  # assumed: standard deviation of a unit's time, as a share of it
PRICE = 3.0  # assumed: dollars per GPU and hour


@dataclass(frozen=True)
class Cluster:
    """load: seconds to change a teacher. write: seconds of the storage for a unit. dispatch: seconds of the driver for a unit. failures: per
    worker and hour. start: seconds until a worker that failed is there again."""

    workers: int
    load: float = 20.0
    write: float = 0.002
    dispatch: float = 0.002
    failures: float = 0.01
    start: float = 300.0


def simulate(cluster: Cluster, units: Mapping[str, Sequence[float]], seed: int = 0) -> dict[str, Any]:
    """units: by teacher, the seconds that each of its units takes. Returns the seconds until all are written, and shares of busy time."""
    draw = random.Random(seed)
    left = {name: list(seconds) for name, seconds in units.items()}
    loaded: list[str | None] = [None] * cluster.workers
    on: dict[str, int] = dict.fromkeys(left, 0)
    free = [(0.0, worker) for worker in range(cluster.workers)]
    driver = storage = end = busy = wasted = 0.0
    failed = 0
    while any(left.values()):
        now, worker = heapq.heappop(free)
        name = loaded[worker]
        load = 0.0
        if name is None or not left[name]:
            new = max((n for n in left if left[n]), key=lambda n: len(left[n]) / (1 + on[n]))
            if name is not None:
                on[name] -= 1
            on[new] += 1
            loaded[worker], name, load = new, new, cluster.load
        seconds = left[name].pop()
        driver = max(driver, now) + cluster.dispatch
        done = driver + load + seconds
        busy += seconds
        if cluster.failures and draw.random() < (load + seconds) * cluster.failures / 3600:
            left[name].append(seconds)  # it is computed again
            on[name] -= 1
            loaded[worker] = None
            failed, wasted = failed + 1, wasted + seconds
            heapq.heappush(free, (done + cluster.start, worker))
            continue
        storage = max(storage, done) + cluster.write
        end = max(end, storage)
        heapq.heappush(free, (done, worker))
    return {
        "seconds": end,
        "busy": round(busy / (end * cluster.workers), 3),
        "failed": failed,
        "wasted_seconds": round(wasted, 1),
    }


def run(data: Path, work: Path) -> dict[str, Any]:
    per_teacher = -(-TEXTS // SHARD)
    draw, mean = random.Random(0), SHARD / TEXTS_PER_SECOND
    units = {
        f"teacher{t}": [max(0.1, draw.gauss(1, SPREAD)) * mean for _ in range(per_teacher)] for t in range(TEACHERS)
    }
    ideal = sum(map(sum, units.values()))
    found = []
    for gpus in GPUS:
        for dispatch in (Cluster(1).dispatch, 0.02):
            one = simulate(replace(Cluster(gpus), dispatch=dispatch), units)
            hours = one["seconds"] / 3600
            found.append(
                {
                    "gpus": gpus, "dispatch": dispatch, "hours": round(hours, 1), "dollars": round(hours * gpus * PRICE),
                    "busy": one["busy"], "failed": one["failed"], "efficiency": round(ideal / gpus / one["seconds"], 3),
                }
            )  # fmt: skip
    settings = {
        "texts": TEXTS,
        "teachers": TEACHERS,
        "shard": SHARD,
        "texts_per_second": TEXTS_PER_SECOND,
        "price": PRICE,
    }
    return {"settings": settings | {"cluster": vars(Cluster(1))}, "clusters": found}


TABLE = Measurement("simulation", "10⁹ texts × 20 teachers on 8, 64 and 512 GPUs, simulated", run, paper="scale")
