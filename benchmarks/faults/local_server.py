"""A server on this machine whose answers are bytes: it can be slow, stop in the middle, or send what no library would."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """`head`: status line and headers; the length of the body is added if `length` is true. `pause`: seconds between single bytes of
    head or body, as `slow` says. `stop`: close the connection after so many bytes."""

    body: bytes = b"{}"
    status: str = "200 OK"
    headers: list[tuple[str, str]] = field(default_factory=list)
    length: bool = True
    slow: str = ""
    pause: float = 0.0
    stop: int | None = None
    raw: bytes | None = None

    def data(self) -> tuple[bytes, bytes]:
        lines = [f"HTTP/1.1 {self.status}", *(f"{name}: {value}" for name, value in self.headers)]
        lines += [f"Content-Length: {len(self.body)}"] if self.length else []
        head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
        return (head, self.body) if self.raw is None else (b"", self.raw)


Answer = Callable[[Any], Reply]
PATIENCE = 120.0  # seconds for one connection


@dataclass
class LocalServer:
    """`asked`: the bodies that it has got, as JSON values."""

    port: int
    asked: list[Any] = field(default_factory=list)

    def url(self, path: str = "/predict") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def local_server(answer: Answer, port: int = 0) -> Iterator[LocalServer]:
    """Run the server for the block. answer: JSON of a request → reply. port: several servers may share one (SO_REUSEPORT)."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(64)
    found, ended = LocalServer(listening.getsockname()[1]), threading.Event()

    def accept() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(connection, answer, found, ended), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield found
    finally:
        ended.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _serve(connection: socket.socket, answer: Answer, server: LocalServer, ended: threading.Event) -> None:
    begun = time.monotonic()
    connection.settimeout(PATIENCE)
    with connection, suppress(OSError, ValueError, KeyError):
        file = connection.makefile("rb")
        while file.readline():
            length = 0
            while line := file.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            body = json.loads(file.read(length))
            server.asked.append(body)
            reply = answer(body)
            head, content = reply.data()
            if reply.stop is not None:
                connection.sendall((head + content)[: reply.stop])
                return
            for part, name in ((head, "head"), (content, "body")):
                if reply.slow != name:
                    connection.sendall(part)
                    continue
                for i in range(len(part)):
                    if ended.is_set() or time.monotonic() - begun > PATIENCE:
                        return
                    connection.sendall(part[i : i + 1])
                    time.sleep(reply.pause)
            if not reply.length or reply.raw is not None:
                return
