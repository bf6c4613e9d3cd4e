"""A real HTTP server on this machine that answers as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Any
"""What is answered: a value for JSON, bytes, or (status, headers, value). None: the connection is closed without an answer."""


@dataclass
class Asked:
    """What the server has got, in order. `url`: its address."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def local_service(answer: Callable[[Any], Reply], path: str = "/predict") -> Iterator[Asked]:
    """Run the server for the block. answer: JSON of a request → reply."""
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.bodies.append(body)
            asked.headers.append(dict(self.headers))
            reply = answer(body)
            if reply is None:
                self.close_connection = True
                return
            status, headers, value = reply if isinstance(reply, tuple) else (200, {}, reply)
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            lines = [f"{name}: {text}" for name, text in {**headers, "Content-Length": len(data)}.items()]
            head = "\r\n".join([f"HTTP/1.1 {status} x", *lines, "", ""]).encode()
            try:
                self.wfile.write(head + data)
            except OSError:
                self.close_connection = True  # whoever asked is gone

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass  # the tests break connections

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    asked.url = f"http://127.0.0.1:{server.server_port}{path}"
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
