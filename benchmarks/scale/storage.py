"""A sweep into an S3 bucket that cannot be reached for a minute: moto's server behind a proxy that closes all connections meanwhile.

Needs the packages s3fs and moto[server].
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement

TEXTS, SHARD, AFTER, DOWN = 2000, 64, 12, 60.0  # AFTER: files that are written before the minute begins
URL = "s3://outputs/store"


class Proxy:
    """Forwards connections to a port of this machine, unless it is `down`."""

    def __init__(self, target: int) -> None:
        self.target, self.down, self.open = target, False, set[socket.socket]()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Close all connections, and each new one."""
        self.down = True
        for end in list(self.open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            if self.down:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            self.open |= {client, server}
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for end in (source, target):
            self.open.discard(end)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def run(data: Path, work: Path) -> dict[str, Any]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    proxy = Proxy(server.get_host_and_port()[1])
    for name, value in {"ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}", "KEY": "key", "SECRET": "secret"}.items():
        os.environ[f"FSSPEC_S3_{name}"] = value
    import fsspec

    files = fsspec.filesystem(
        "s3",
        endpoint_url=f"http://127.0.0.1:{server.get_host_and_port()[1]}",
        key="key",
        secret="secret",
        use_listings_cache=False,
    )
    files.mkdir("outputs")
    command = [sys.executable, "-m", "benchmarks.scale.storage", str(work)]
    begun = time.perf_counter()
    process = subprocess.Popen([*command, URL], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and _count(files) < AFTER:
        time.sleep(0.2)
    proxy.stop()
    before = _count(files)
    time.sleep(DOWN)
    meanwhile, alive = _count(files) - before, process.poll() is None
    proxy.down = False
    said = process.communicate()[1]
    seconds = time.perf_counter() - begun
    subprocess.run([*command, str(work / "local")], check=True, capture_output=True)
    root = work / "local"
    local = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.safetensors")}
    remote = {name.removeprefix("outputs/store/"): files.cat_file(name) for name in files.find("outputs/store")}
    units = {name: found for name, found in remote.items() if name.endswith(".safetensors")}
    server.stop()
    return {
        "texts": TEXTS,
        "down_seconds": DOWN,
        "files": len(local),
        "before": before,
        "meanwhile": meanwhile,
        "alive": alive,
        "exit": process.returncode,
        "seconds": round(seconds, 1),
        "said": next((line for line in said.splitlines() if "cannot be reached" in line), ""),
        "missing": len(local.keys() - units.keys()),
        "different": sum(units.get(name) != found for name, found in local.items()),
        "left_over": sum(".tmp-" in name for name in remote),
    }


def _count(files: Any) -> int:
    return sum(name.endswith(".safetensors") for name in files.find("outputs/store"))


def one(work: Path, url: str) -> None:
    """Sweep into this store, in a process of its own."""
    from alloykit.data import load_texts
    from alloykit.knowledge.store.store import Store
    from alloykit.knowledge.sweep.request import SweepOptions
    from alloykit.knowledge.sweep.sweep import sweep
    from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
    from alloykit.testing import tiny

    folders = [work / f"teacher{n}" for n in range(2)]
    for n, folder in enumerate(folders):
        if not folder.exists():
            tiny.classifier(folder, ("a", "b", "c"), "bert", seed=n)
    infos = [read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name) for folder in folders]
    sweep(infos, load_texts(tiny.texts(TEXTS)), Store(url, shard_rows=SHARD), SweepOptions(passes=4, max_length=16))


TABLE = Measurement("storage", "a sweep into an S3 bucket that cannot be reached for a minute", run, paper="scale")

if __name__ == "__main__":
    one(Path(sys.argv[1]), sys.argv[2])
