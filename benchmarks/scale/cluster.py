"""Faults of a Ray cluster: two small nodes on this machine, tiny random teachers, and what is lost or different after each fault.

A try is a sweep in a process of its own, which is started again until it ends by itself. Its store is compared, byte by byte, with that of an
undisturbed sweep of one process.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from alloykit.progress import log_line
from benchmarks.speed.measure import Measurement

TEXTS, SHARD, PASSES, DOWN = 1536, 32, 4, 60.0
TRIES = {"worker": 4, "node": 3, "driver": 3, "slow": 2, "sent": 2, "store": 1}
WAIT = 0.05  # seconds between looks at the store
SLOW = 1.0  # seconds that the slow worker needs more for each job
LONGEST = 300.0  # seconds of a try
UNITS = 2 * (TEXTS // SHARD) * (1 + PASSES // 4)
MARK = "out-of-reach"  # a file beside the store that `Reached` cannot reach while it exists
Fault = Callable[["Nodes", subprocess.Popen[str], Path, random.Random], str]


class Reached(LocalFileSystem):  # type: ignore[misc]
    """A file system that a store takes for a remote one, and that cannot be reached while there is a mark."""

    protocol = "reached"

    def _check(self, path: str) -> str:
        if any((parent / MARK).exists() for parent in Path(path).parents):
            raise ConnectionError("connection refused")
        return path

    def info(self, path: str, **options: Any) -> Any:
        return super().info(self._check(path), **options)

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        return super().ls(self._check(path), detail, **options)

    def cat_file(self, path: str, *options: Any, **more: Any) -> Any:
        return super().cat_file(self._check(path), *options, **more)

    def pipe_file(self, path: str, *options: Any, **more: Any) -> Any:
        return super().pipe_file(self._check(path), *options, **more)

    def mv(self, path1: str, path2: str, **options: Any) -> Any:
        return super().mv(self._check(path1), path2, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        return super().makedirs(self._check(path), exist_ok)


fsspec.register_implementation(Reached.protocol, Reached, clobber=True)  # in every process that imports this file


class Nodes:
    """A Ray cluster whose head computes nothing, and two nodes with a core each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        memory = 100 * 2**20
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": memory})
        self.memory, self.nodes = memory, list[Any]()
        for _ in range(2):
            self.add()

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=self.memory))

    def remove(self, number: int) -> None:
        self.cluster.remove_node(self.nodes.pop(number), allow_graceful=False)


def run(data: Path, work: Path) -> dict[str, Any]:
    shutil.rmtree(work / "cluster", ignore_errors=True)
    folder = work / "cluster"
    folder.mkdir(parents=True)
    _sweep(folder, str(folder / "alone"), "").wait()
    whole = _files(folder / "alone")
    nodes, rows = Nodes(), list[dict[str, Any]]()
    try:
        for name, fault in FAULTS.items():
            rows.append(_tried(name, fault, nodes, folder, whole))
            log_line(str(rows[-1]))
    finally:
        nodes.cluster.shutdown()
    shutil.rmtree(folder)
    return {"texts": TEXTS, "teachers": 2, "units": UNITS, "nodes": 2, "faults": rows}


def _tried(name: str, fault: Fault, nodes: Nodes, folder: Path, whole: dict[str, bytes]) -> dict[str, Any]:
    row = {"fault": name, "tried": 0, "happened": 0, "starts": 0, "lost": 0, "different": 0, "left_over": 0, "again": 0}
    begun = time.perf_counter()
    for seed in range(TRIES[name]):
        draw, store = random.Random(f"{name} {seed}"), folder / f"{name}-{seed}"
        (folder / "slow").unlink(missing_ok=True)
        url = f"{Reached.protocol}://{store}" if name == "store" else str(store)
        process = _sweep(folder, url, nodes.address, name)
        row["tried"], row["starts"] = row["tried"] + 1, row["starts"] + 1
        happened = _when(process, store, draw.randrange(4, UNITS - 24)) and fault(nodes, process, store, draw)
        row["happened"] += bool(happened)
        process.communicate(timeout=LONGEST)
        kept = {path: path.stat().st_mtime_ns for path in store.rglob("*.json")}
        while process.returncode:
            process = _sweep(folder, url, nodes.address, name)
            process.communicate(timeout=LONGEST)
            row["starts"] += 1
            row["again"] += sum(path.stat().st_mtime_ns != at for path, at in kept.items() if "logits" in path.name)
        while len(nodes.nodes) < 2:
            nodes.add()
        _compare(row, whole, _files(store), sum(".tmp" in path.name for path in store.rglob("*")))
        shutil.rmtree(store)
    return row | {"seconds": round(time.perf_counter() - begun, 1)}


def _compare(row: dict[str, Any], whole: dict[str, bytes], found: dict[str, bytes], left_over: int) -> None:
    row["lost"] += len(whole.keys() - found.keys())
    row["different"] += sum(found[name] != data for name, data in whole.items() if name in found)
    row["different"] += len(found.keys() - whole.keys())
    row["left_over"] += left_over


def _when(process: subprocess.Popen[str], store: Path, units: int) -> bool:
    """Whether the sweep still runs when the store has so many units; waits for them."""
    while process.poll() is None:
        if sum(1 for _ in store.glob("teachers/*/*.safetensors")) >= units:
            return True
        time.sleep(WAIT)
    return False


def _worker_killed(nodes: Nodes, process: subprocess.Popen[str], store: Path, draw: random.Random) -> str:
    """kill -9 of one of the two workers."""
    workers = [int(path.name) for path in store.parent.glob("workers/*") if _alive(int(path.name))]
    if not workers:
        return ""
    os.kill(draw.choice(workers), signal.SIGKILL)
    return "killed"


def _node_removed(nodes: Nodes, process: subprocess.Popen[str], store: Path, draw: random.Random) -> str:
    """A node goes without a word; another one comes three seconds later."""
    nodes.remove(draw.randrange(2))
    time.sleep(3)
    nodes.add()
    return "removed"


def _driver_killed(nodes: Nodes, process: subprocess.Popen[str], store: Path, draw: random.Random) -> str:
    """kill -9 of the command; its workers end with it."""
    process.kill()
    return "killed"


def _nothing(nodes: Nodes, process: subprocess.Popen[str], store: Path, draw: random.Random) -> str:
    """The fault is in the sweep itself."""
    return "slow or sent"


def _out_of_reach(nodes: Nodes, process: subprocess.Popen[str], store: Path, draw: random.Random) -> str:
    """No process reaches the store for a minute. All try again meanwhile."""
    mark = store.parent / MARK
    mark.touch()
    time.sleep(DOWN)
    waits = process.poll() is None
    mark.unlink()
    return "waited" if waits else ""


FAULTS: dict[str, Fault] = {
    "worker": _worker_killed,
    "node": _node_removed,
    "driver": _driver_killed,
    "slow": _nothing,
    "sent": _nothing,
    "store": _out_of_reach,
}


def _files(store: Path) -> dict[str, bytes]:
    """Every unit of a store that has a receipt."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in store.rglob("*.safetensors")
        if path.with_suffix(".json").exists()
    }


def _alive(process: int) -> bool:
    with suppress(OSError):
        return "ray::" in Path(f"/proc/{process}/cmdline").read_text()
    return False


def _first(mark: Path) -> bool:
    """Whether this process is the first that makes the file."""
    with suppress(FileExistsError):
        mark.touch(exist_ok=False)
        return True
    return False


def _sweep(folder: Path, url: str, address: str, fault: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.scale.cluster", str(folder), url, address, fault]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


class Noted:
    """Makes the workers of a sweep. Each writes its process number where the benchmark finds it; one may be slow, and may not see the store."""

    def __init__(self, maker: Any, folder: Path, fault: str) -> None:
        self.maker, self.folder, self.fault = maker, folder, fault

    def __call__(self) -> Any:
        from dataclasses import replace

        import torch

        torch.set_num_threads(1)
        self.folder.mkdir(exist_ok=True)
        (self.folder / str(os.getpid())).touch()
        work = replace(self.maker, sighting=(0, 0, 0))() if self.fault == "sent" else self.maker()
        if self.fault != "slow" or not _first(self.folder.with_name("slow")):
            return work
        return lambda job: (time.sleep(SLOW), work(job))[1]


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
    options = EngineOptions(name="ray", address=address, workers=2)
    engine = SweepBy(NotedEngine(RayEngine(options), folder / "workers", fault)) if address else None
    store = Store(url, shard_rows=SHARD)
    sweep(infos, load_texts(tiny.texts(TEXTS)), store, SweepOptions(passes=PASSES, max_length=16, engine=engine))


TABLE = Measurement("cluster", "faults of a Ray cluster: what is lost, and what is different", run, paper="scale")

if __name__ == "__main__":
    from benchmarks.scale import cluster  # workers can import what belongs to this module, but not to __main__

    cluster.one(Path(sys.argv[1]), *sys.argv[2:])
