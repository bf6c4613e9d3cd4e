"""The sweep of `scale cluster`, in a process of its own: tiny random teachers, and workers that leave notes and may have a fault."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

TEXTS, SHARD, PASSES = 1536, 32, 4
SLOW = 1.0  # seconds that the slow worker needs more for each job
STEADY = 0.4  # seconds that every worker needs more for each job while nodes come and go, so that they come in time
WORKERS = {"grow": None}  # as many as the cluster has room for; otherwise two


def start_sweep(folder: Path, url: str, address: str, fault: str = "") -> subprocess.Popen[str]:
    """Start the sweep. address: of the cluster; without it, the process sweeps alone. fault: of the workers."""
    command = [sys.executable, "-m", "benchmarks.scale.swept", str(folder), url, address, fault]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _first(mark: Path) -> bool:
    """Whether this process is the first that makes the file."""
    with suppress(FileExistsError):
        mark.touch(exist_ok=False)
        return True
    return False


class Noted:
    """Makes the workers of a sweep. Each notes its node for every job; one may be slow, and may not see the store."""

    def __init__(self, maker: Any, folder: Path, fault: str) -> None:
        self.maker, self.folder, self.fault = maker, folder, fault

    def __call__(self) -> Any:
        from dataclasses import replace

        import ray
        import torch

        torch.set_num_threads(1)
        self.folder.mkdir(exist_ok=True)
        note = self.folder / ray.get_runtime_context().get_node_id()
        work = replace(self.maker, sighting=(0, 0, 0))() if self.fault == "sent" else self.maker()
        slow = self.fault == "slow" and _first(self.folder.with_name("slow"))
        more = SLOW if slow else STEADY if self.fault == "grow" else 0.0

        def do(job: Any) -> Any:
            time.sleep(more)
            found = work(job)
            with note.open("a") as file:
                file.write(".")
            return found

        return do


class NotedEngine:
    """A Ray engine whose workers are `Noted`."""

    def __init__(self, engine: Any, folder: Path, fault: str) -> None:
        self.engine, self.folder, self.fault = engine, folder, fault

    def run(self, jobs: Any, worker: Any, what: str, unit: str) -> Any:
        return self.engine.run(jobs, Noted(worker, self.folder, self.fault), what, unit)


def one(folder: Path, url: str, address: str, fault: str) -> None:
    """Sweep into this store, in a process of its own."""
    import torch

    from alloykit.data import load_texts
    from alloykit.engines.engine_options import EngineOptions
    from alloykit.engines.ray import RayEngine
    from alloykit.engines.sweep_jobs import SweepBy
    from alloykit.knowledge.store.store import Store
    from alloykit.knowledge.sweep.request import SweepOptions
    from alloykit.knowledge.sweep.sweep import sweep
    from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
    from alloykit.testing import tiny

    torch.set_num_threads(1)
    folders = [folder / f"teacher{n}" for n in range(2)]
    for n, place in enumerate(folders):
        if not place.exists():
            tiny.classifier(place, ("a", "b", "c"), "bert", seed=n)
    infos = [read_teacher_info(HuggingFaceSpec(model=str(place)), place.name) for place in folders]
    options = EngineOptions(name="ray", address=address, workers=WORKERS.get(fault, 2))
    engine = SweepBy(NotedEngine(RayEngine(options), folder / "nodes", fault)) if address else None
    store = Store(url, shard_rows=SHARD)
    sweep(infos, load_texts(tiny.texts(TEXTS)), store, SweepOptions(passes=PASSES, max_length=16, engine=engine))


if __name__ == "__main__":
    from benchmarks.scale import swept  # workers can import what belongs to this module, but not to __main__

    swept.one(Path(sys.argv[1]), *sys.argv[2:])
