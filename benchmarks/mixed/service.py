"""A local service for the measurement: answers texts in the format of text-embeddings-inference, and counts what it is asked."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from alloykit.serving.predictor import Predictor


class Service:
    """`asked`: how often each text was answered. `stop_after`: once so many answers were given, `reached` is set."""

    def __init__(self, folder: Path) -> None:
        self.classifier, self.lock = Predictor.load(folder), threading.Lock()
        self.asked: Counter[str] = Counter()
        self.stop_after: int | None = None
        self.reached = threading.Event()

    def answer(self, texts: list[str]) -> list[list[dict[str, Any]]]:
        with self.lock:  # one model, one request at a time
            found = self.classifier.probabilities(texts, calibrated=False).tolist()
            self.asked.update(texts)
            if self.stop_after is not None and sum(self.asked.values()) >= self.stop_after:
                self.reached.set()
        return [[{"label": n, "score": p} for n, p in zip(self.classifier.labels, row, strict=True)] for row in found]


@contextmanager
def running(service: Service) -> Iterator[str]:
    """The address of the service, which answers while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [given if isinstance(given, str) else given[0] for given in asked["inputs"]]
            body = json.dumps(service.answer(texts)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Not on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/predict"
    finally:
        server.shutdown()
        server.server_close()
