"""One Ray worker with two threads against two with one thread each, on the same sweep. The simulation is fed with these figures."""

from __future__ import annotations

import json
import resource
import shutil
import time
from pathlib import Path
from statistics import median
from typing import Any

from alloykit.data import Texts, load_texts
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.ray import RayEngine
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import TeacherInfo
from benchmarks.speed.measure import Measurement
from benchmarks.speed.teachers import untrained

TEXTS, SHARD, ROUNDS = 8192, 256, 2
SETTINGS = ((1, 2), (2, 1), (1, 1))  # workers, threads of each; the last one only feeds the simulation


def run(data: Path, work: Path) -> dict[str, Any]:
    folders = [untrained(work / f"teacher{k}", [f"{k}-a", f"{k}-b"], k, layers=1) for k in range(2)]
    infos = [read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name) for folder in folders]
    texts = load_texts(
        [f"the customer of order {n} was charged twice and asks for a refund of it" for n in range(TEXTS)]
    )
    found: dict[str, Any] = {}
    for n, (workers, threads) in [(n, w) for n in range(ROUNDS) for w in SETTINGS]:
        one = _once(infos, texts, work / "store", workers, threads)
        key = f"{workers} × {threads}"
        if n == 0 or one["seconds"] < found[key]["seconds"]:
            found[key] = one
    return found | {"texts": TEXTS, "teachers": len(infos), "shard": SHARD, "write_seconds": _writing(work / "store")}


def _writing(folder: Path) -> float:
    """The median time to save a unit of this sweep, with its receipt."""
    store, name = Store.existing(folder), next((folder / "teachers").glob("*/*/*.logits.safetensors"))
    unit = str(name.relative_to(folder)).removesuffix(".safetensors")
    tensors, times = store.load(unit), []
    for _ in range(20):
        begun = time.perf_counter()
        store.save(unit, tensors)
        times.append(time.perf_counter() - begun)
    return round(median(times), 5)


def _once(infos: list[TeacherInfo], texts: Texts, folder: Path, workers: int, threads: int) -> dict[str, Any]:
    import ray

    shutil.rmtree(folder, ignore_errors=True)
    options = EngineOptions(name="ray", workers=workers, cpus_per_worker=threads)
    if not ray.is_initialized():
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    engine = SweepBy(RayEngine(options))
    called, before = time.time(), resource.getrusage(resource.RUSAGE_SELF)
    sweep(infos, texts, Store(folder, shard_rows=SHARD), SweepOptions(max_length=32, engine=engine))
    after = resource.getrusage(resource.RUSAGE_SELF)
    driver = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    receipts = sorted((folder / "teachers").glob("*/*/*.logits.json"))
    seconds = {path: json.loads(path.read_text())["seconds"] for path in receipts}
    begun = min(path.stat().st_mtime - spent for path, spent in seconds.items())
    units = {info.name: [s for path, s in seconds.items() if path.parents[1].name == info.name] for info in infos}
    return {
        "seconds": round(max(path.stat().st_mtime for path in receipts) - begun, 2),
        "computing": round(sum(seconds.values()), 2),
        "median_unit": round(median(seconds.values()), 3),
        "driver_seconds": round(driver, 2),
        "start_seconds": round(begun - called, 2),
        "units": units,
    }


TABLE = Measurement("workers", "one worker with two threads against two workers with one", run, paper="scale")
