"""`predict --to` with Ray Data over folders of Parquet files: memory of every process, and the answers beside those of one process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from alloykit.progress import log_line
from benchmarks.speed.measure import Measurement

SIZES, FILES, LONGEST = (60_000, 240_000), 3, 420.0  # texts in all; files of each size
KINDS = {"MapWorker": "the worker", "MapBatches": "the readers", "ReadFrom": "the readers"}


def run(data: Path, work: Path) -> dict[str, Any]:
    from alloykit.testing import tiny
    from benchmarks.scale.cluster import Nodes

    folder = work / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tiny.classifier(folder / "student", ("a", "b", "c"), "bert", seed=0)
    rows, nodes = [], Nodes()
    try:
        for texts in SIZES:
            _write(folder / f"{texts}", texts)
            rows.append({"texts": texts} | _one(folder, texts, nodes.address))
            log_line(str(rows[-1]))
    finally:
        nodes.cluster.shutdown()
    shutil.rmtree(folder)
    return {"files": FILES, "sizes": rows}


def _write(folder: Path, texts: int) -> None:
    """One file has half of the texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from alloykit.testing import tiny

    folder.mkdir()
    each = [texts // 2, texts // 4, texts // 4]
    for n, size in enumerate(each):
        lines = tiny.texts(2000, seed=n)
        table = pa.table({"text": [f"{lines[i % 2000]} {i}" for i in range(size)]})
        pq.write_table(table, folder / f"{n}.parquet", row_group_size=10_000)


def _one(folder: Path, texts: int, address: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    found = {}
    for name, place in (("one", ""), ("ray", address)):
        command = [sys.executable, "-m", "benchmarks.scale.folder", str(folder), str(texts), name, place]
        begun, process, most = time.perf_counter(), subprocess.Popen(command), dict[str, int]()
        while process.poll() is None and time.perf_counter() - begun < LONGEST:
            for kind, size in _sizes(process.pid):
                most[kind] = max(most.get(kind, 0), size)
            time.sleep(0.2)
        seconds = round(time.perf_counter() - begun, 1)
        found[name] = {"seconds": seconds, "exit": process.wait(), "peak_mb": most}
    equal = [
        pq.read_table(path).equals(pq.read_table(folder / f"ray-{texts}" / path.name))
        for path in sorted((folder / f"one-{texts}").iterdir())
    ]
    return found | {"equal": sum(equal)}


def _sizes(driver: int) -> list[tuple[str, int]]:
    """The resident memory of the command and of Ray's worker processes, in MB, without shared memory."""
    found = []
    for path in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            line = (path / "cmdline").read_text()
            kind = "the command" if path.name == str(driver) else next((k for w, k in KINDS.items() if w in line), "")
            if kind and (kind == "the command" or line.startswith("ray::")):
                status = dict(part.split(":", 1) for part in (path / "status").read_text().splitlines())
                found.append((kind, int(status["RssAnon"].split()[0]) // 1024))
    return found


def one(folder: Path, texts: str, name: str, address: str) -> None:
    """Label the files, in a process of its own."""
    import torch

    from alloykit.finished_runs.predict_files import predict_files

    torch.set_num_threads(1)
    engine = {"name": "ray", "address": address, "workers": 1} if address else None
    predict_files(folder / "student", folder / texts, folder / f"{name}-{texts}", engine=engine)


TABLE = Measurement("folder", "predict --to with Ray Data: memory, and the same answers", run, paper="scale")

if __name__ == "__main__":
    one(Path(sys.argv[1]), *sys.argv[2:])
