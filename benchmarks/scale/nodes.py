"""A small Ray cluster on this machine, each node a raylet of its own."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

MEMORY = 100 * 2**20  # bytes of each node's object store


class Nodes:
    """A Ray cluster whose head computes nothing, and nodes with a core each."""

    def __init__(self, count: int = 2) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY})
        self.nodes = list[Any]()
        self.set_count(count)

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def set_count(self, count: int) -> None:
        """Add or remove nodes until there are so many."""
        while len(self.nodes) < count:
            self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=MEMORY))
        while len(self.nodes) > count:
            self.remove(-1)

    def remove(self, number: int) -> None:
        """A node goes without a word."""
        self.cluster.remove_node(self.nodes.pop(number), allow_graceful=False)

    def workers(self) -> list[int]:
        """The processes of alloykit's workers on the nodes."""
        raylets = {node.all_processes["raylet"][0].process.pid for node in self.nodes}
        return [pid for pid, (parent, line) in _processes().items() if parent in raylets and "_RayWorker" in line]

    def shutdown(self) -> None:
        self.cluster.shutdown()


def _processes() -> dict[int, tuple[int, str]]:
    """Process → its parent, and its command line."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
                found[int(path.name)] = parent, (path / "cmdline").read_text().replace("\0", " ")
    return found
