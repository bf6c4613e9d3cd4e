"""The processor time of the driver beside that of its workers, for units of several sizes. Other load on the machine changes both alike."""

from __future__ import annotations

import os
import resource
import shutil
import time
from pathlib import Path
from typing import Any

from alloykit.data import load_texts
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.ray import RayEngine
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from benchmarks.speed.measure import Measurement
from benchmarks.speed.teachers import untrained

SIZES = ((1024, 16384), (256, 16384), (32, 4096))  # texts of a unit, texts
WORKERS = 2


def run(data: Path, work: Path) -> dict[str, Any]:
    import ray

    folders = [untrained(work / f"teacher{k}", [f"{k}-a", f"{k}-b"], k, layers=1) for k in range(2)]
    infos = [read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name) for folder in folders]
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    rows = []
    for shard, count in SIZES:
        texts = load_texts([f"the customer of order {n} was charged twice and asks for a refund" for n in range(count)])
        folder = work / f"driver-{shard}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        engine = TimedEngine(RayEngine(EngineOptions(name="ray", workers=WORKERS)), folder)
        store, options = Store(folder / "store", shard_rows=shard), SweepOptions(max_length=32, engine=SweepBy(engine))
        before = _spent()
        sweep(infos, texts, store, options)
        rows.append(
            {
                "texts": shard,
                "units": len(list((folder / "store" / "teachers").glob("*/*/*.logits.json"))),
                "calls": engine.calls,
                "driver": round(_spent() - before, 3),
                "workers": round(sum(float(path.read_text()) for path in folder.glob("*.seconds")), 3),
            }
        )
    ray.shutdown()
    return {"workers": WORKERS, "sizes": rows}


def _spent() -> float:
    """Processor time of this process, seconds."""
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime


class TimedEngine:
    """An engine whose workers note the processor time of their jobs, in a file for each process. `calls`: how many calls the jobs took."""

    def __init__(self, engine: RayEngine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    @property
    def calls(self) -> int:
        return sum(len(set(path.read_text().split())) for path in self.folder.glob("*.calls"))

    def run(self, jobs: Any, worker: Any, what: str, unit: str) -> Any:
        return self.engine.run(jobs, Timed(worker, self.folder), what, unit)


class Timed:
    """Makes such a worker."""

    def __init__(self, maker: Any, folder: Path) -> None:
        self.maker, self.folder = maker, folder

    def __call__(self) -> Any:
        import ray

        work, spent, seconds = self.maker(), [0.0], self.folder / f"{os.getpid()}.seconds"
        calls = seconds.with_suffix(".calls").open("a")

        def do(job: Any) -> Any:
            begun = time.process_time()
            found = work(job)
            spent[0] += time.process_time() - begun
            seconds.write_text(str(spent[0]))
            calls.write(f"{ray.get_runtime_context().get_task_id()}\n")
            calls.flush()
            return found

        return do


TABLE = Measurement("driver", "processor time of the driver beside that of its workers", run, paper="scale")
