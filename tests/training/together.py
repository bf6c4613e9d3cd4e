"""Several processes that work together, forked from this one, which has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from typing import Any

PATIENCE = 60  # seconds


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def launched(rank: int, count: int, port: int) -> dict[str, str]:
    """The variables that a launcher sets."""
    return {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip


def together(count: int, work: Callable[[], Any]) -> list[Any]:
    """What `work` returns in each of `count` processes that were launched together; an exception's text, where it raises one."""
    port, fork = free_port(), multiprocessing.get_context("fork")
    pipes = [fork.Pipe(duplex=False) for _ in range(count)]

    def run(rank: int) -> None:
        os.environ.update(launched(rank, count, port))
        try:
            answer: Any = work()
        except BaseException:
            answer = traceback.format_exc()
        pipes[rank][1].send(answer)
        pipes[rank][1].close()
        os._exit(0)

    started = [fork.Process(target=run, args=(rank,)) for rank in range(count)]
    for process in started:
        process.start()
    try:
        answers = [pipe.recv() if pipe.poll(PATIENCE) else "nothing" for pipe, _ in pipes]
    finally:
        for process in started:
            process.join(5)
            process.kill()
    return answers
