"""Faults of a Ray cluster: small nodes on this machine, tiny random teachers, and what is lost or different after each fault.

A try is a sweep in a process of its own, which is started again until it ends by itself. Its store is compared, byte by byte, with that of an
undisturbed sweep of one process. The store out of reach is a bucket of moto's S3 server, which is stopped and started again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec

from alloykit.progress import log_line
from benchmarks.scale.nodes import Nodes
from benchmarks.scale.s3_server import S3Server
from benchmarks.scale.swept import PASSES, SHARD, TEXTS, start_sweep
from benchmarks.scale.written import written_texts
from benchmarks.speed.measure import Measurement

DOWN = 60.0  # seconds
TRIES = {"worker": 4, "node": 3, "driver": 3, "slow": 2, "sent": 2, "grow": 2, "store": 1}
WAIT = 0.05  # seconds between looks at the store
LONGEST = 300.0  # seconds of a try
UNITS = 2 * (TEXTS // SHARD) * (1 + PASSES // 4)
Fault = Callable[["Try"], str]


class Try:
    """A sweep and its store, which may be in the bucket."""

    def __init__(self, name: str, number: int, nodes: Nodes, folder: Path, s3: S3Server) -> None:
        self.name, self.nodes, self.folder, self.s3 = name, nodes, folder, s3
        self.draw = random.Random(f"{name} {number}")
        self.url = f"s3://outputs/{number}" if name == "store" else str(folder / f"{name}-{number}")
        self.files, self.root = (
            (s3.files, self.url.removeprefix("s3://")) if name == "store" else fsspec.core.url_to_fs(self.url)
        )
        (folder / "slow").unlink(missing_ok=True)
        shutil.rmtree(folder / "nodes", ignore_errors=True)
        self.start()

    def start(self) -> None:
        self.process = start_sweep(self.folder, self.url, self.nodes.address, self.name)

    def names(self) -> list[str]:
        """Every file of the store, relative to it."""
        return [name.removeprefix(self.root).lstrip("/") for name in self.files.find(self.root)]

    def content(self) -> dict[str, bytes]:
        """Every unit that has a receipt."""
        names = set(self.names())
        units = [name for name in names if name.endswith(".safetensors") and f"{name[:-12]}.json" in names]
        return {name: self.files.cat_file(f"{self.root}/{name}") for name in units}

    def times(self) -> dict[str, Any]:
        """When each receipt of logits was written."""
        found = self.files.find(self.root, detail=True)
        times = {name: about.get("mtime", about.get("LastModified")) for name, about in found.items()}
        return {name: at for name, at in times.items() if name.endswith(".logits.json")}

    def reaches(self, units: int) -> bool:
        """Whether the sweep still runs when the store has so many units; waits for them."""
        while self.process.poll() is None:
            if sum("teachers/" in name and name.endswith(".safetensors") for name in self.names()) >= units:
                return True
            time.sleep(WAIT)
        return False


def run(data: Path, work: Path) -> dict[str, Any]:
    shutil.rmtree(work / "cluster", ignore_errors=True)
    folder = work / "cluster"
    folder.mkdir(parents=True)
    s3 = S3Server("outputs")
    os.environ.update(s3.environment)  # of the nodes, which start now, and of the sweeps
    start_sweep(folder, str(folder / "alone"), "").communicate(timeout=LONGEST)
    whole = {str(p.relative_to(folder / "alone")): p.read_bytes() for p in (folder / "alone").rglob("*.safetensors")}
    nodes, rows = Nodes(), list[dict[str, Any]]()
    try:
        texts = written_texts(folder, nodes)
        log_line(str(texts))
        for name, fault in FAULTS.items():
            rows.append(_tried(name, fault, nodes, folder, s3, whole))
            log_line(str(rows[-1]))
    finally:
        nodes.shutdown()
        s3.stop()
    shutil.rmtree(folder)
    return {"texts": TEXTS, "teachers": 2, "units": UNITS, "nodes": 2, "faults": rows, "generate": texts}


def _tried(
    name: str, fault: Fault, nodes: Nodes, folder: Path, s3: S3Server, whole: dict[str, bytes]
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(
        ("tried", "happened", "starts", "lost", "different", "left_over", "again"), 0
    ) | {"fault": name}
    begun, jobs = time.perf_counter(), list[list[int]]()
    for number in range(TRIES[name]):
        nodes.set_count(1 if name == "grow" else 2)
        one = Try(name, number, nodes, folder, s3)
        row["tried"], row["starts"] = row["tried"] + 1, row["starts"] + 1
        most = UNITS // 4 if name == "grow" else UNITS - 24
        row["happened"] += bool(one.reaches(one.draw.randrange(4, most)) and fault(one))
        one.process.communicate(timeout=LONGEST)
        kept = one.times()
        while one.process.returncode:
            one.start()
            one.process.communicate(timeout=LONGEST)
            row["starts"] += 1
            now = one.times()
            row["again"] += sum(now[path] != at for path, at in kept.items())
        found = one.content()
        row["lost"] += len(whole.keys() - found.keys())
        row["different"] += sum(found[path] != data for path, data in whole.items() if path in found)
        row["different"] += len(found.keys() - whole.keys())
        row["left_over"] += sum(".tmp" in path for path in one.names())
        notes = sorted((folder / "nodes").iterdir(), key=lambda path: path.stat().st_ctime)
        jobs.append([path.stat().st_size for path in notes])
        one.files.rm(one.root, recursive=True)
    nodes.set_count(2)
    return row | {"jobs_of_nodes": jobs, "seconds": round(time.perf_counter() - begun, 1)}


def _worker_killed(one: Try) -> str:
    """kill -9 of one of the two workers."""
    workers = one.nodes.workers()
    if not workers:
        return ""
    os.kill(one.draw.choice(workers), signal.SIGKILL)
    return "killed"


def _node_removed(one: Try) -> str:
    """A node goes without a word; another one comes three seconds later."""
    one.nodes.remove(one.draw.randrange(2))
    time.sleep(3)
    one.nodes.set_count(2)
    return "removed"


def _driver_killed(one: Try) -> str:
    """kill -9 of the command; its workers end with it."""
    one.process.kill()
    return "killed"


def _nothing(one: Try) -> str:
    """The fault is in the sweep itself."""
    return "slow or sent"


def _nodes_come_and_go(one: Try) -> str:
    """The sweep begins with one node. Two more come, and when both have done jobs, the first one goes."""
    one.nodes.set_count(3)
    while one.process.poll() is None:
        notes = list((one.folder / "nodes").iterdir())
        if len([note for note in notes if note.stat().st_size]) == 3:
            one.nodes.remove(0)
            return "came and went"
        time.sleep(WAIT)
    return ""


def _out_of_reach(one: Try) -> str:
    """The server is stopped for a minute. All processes try again meanwhile."""
    one.s3.stop()
    time.sleep(DOWN)
    waits = one.process.poll() is None
    one.s3.start()
    return "waited" if waits else ""


FAULTS: dict[str, Fault] = {
    "worker": _worker_killed,
    "node": _node_removed,
    "driver": _driver_killed,
    "slow": _nothing,
    "sent": _nothing,
    "grow": _nodes_come_and_go,
    "store": _out_of_reach,
}

TABLE = Measurement("cluster", "faults of a Ray cluster: what is lost, and what is different", run, paper="scale")
