"""Clients that are slow, silent or many cannot hold the server up."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from running import Fake, Running, running

from alloykit.web import guard

PATIENCE_S = 3.0
HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
GOOD = HEAD + b'Content-Length: 16\r\n\r\n{"inputs": "ab"}'


@contextmanager
def connected(site: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) as made:
        yield made


def drip(connection: socket.socket, data: bytes, pause: float = 0.02) -> None:
    """Send a byte now and then, until the server closes the connection."""
    with suppress(OSError):
        for i in range(len(data)):
            connection.sendall(data[i : i + 1])
            time.sleep(pause)


def received(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection. TimeoutError if it does not."""
    found = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    ("begin", "slowly", "answer"),
    [
        (b"", b"", b""),
        (b"", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 1000, b""),
        (HEAD + b"Content-Length: 1000\r\n\r\n", b"x" * 1000, b"HTTP/1.1 408 "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000, b"HTTP/1.1 408 "),
        (GOOD, b"", b"HTTP/1.1 200 "),
        (GOOD, GOOD + b" " * 1000, b"HTTP/1.1 200 "),
        (GOOD + b"GET /health HTTP/1.1\r\n", b"X: y\r\n" * 1000, b"HTTP/1.1 200 "),
    ],
    ids=["silent", "slow headers", "slow body", "slow chunks", "never asks again", "asks again slowly", "pipelined and slow"],
)  # fmt: skip
def test_a_slow_client_is_dropped(begin: bytes, slowly: bytes, answer: bytes) -> None:
    with running(Fake(), timeout=0.2) as site:
        with connected(site) as connection:
            connection.sendall(begin)
            sender = threading.Thread(target=drip, args=(connection, slowly))
            sender.start()
            assert received(connection).startswith(answer)
            sender.join(PATIENCE_S)
        assert site.post("/predict", {"inputs": "ab"}).status == 200
        assert "alloykit_active_requests 1.0" in site.get("/metrics").text, "only the request for this page"


@pytest.mark.slow
def test_a_client_that_takes_no_answer_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.web.bounded_connection.ANSWER_S", 0.2)
    with running(Fake(), timeout=0.2) as site, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE_S)
        connection.connect(("127.0.0.1", site.port))
        asked = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - began < PATIENCE_S:
                connection.sendall(asked * 100)
        assert time.monotonic() - began < PATIENCE_S, "the server still takes requests"
        assert site.get("/health").status == 200


def test_idle_connections_make_room_for_the_next() -> None:
    with running(Fake(), connections=16) as site:
        silent = [socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) for _ in range(100)]
        try:
            assert site.post("/predict", {"inputs": "ab"}).status == 200
            assert len(site.server.server_state.connections) <= 16
            assert received(silent[0]) == b"", "the oldest is closed"
        finally:
            for one in silent:
                one.close()


def test_bodies_that_never_end_keep_no_other_from_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "LARGE_BODIES", 1)
    with running(Fake(), queue=32) as site:
        slow = [socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) for _ in range(110)]
        try:
            for one in slow:
                one.sendall(HEAD + b"Content-Length: 1900000\r\n\r\n" + b"x" * 20_000)
            assert site.post("/predict", {"inputs": "ab"}).status == 200
            reply = site.post("/predict", b" " * 1_000_000)
            assert (reply.status, reply.json["error_type"]) == (503, "Overloaded")
        finally:
            for one in slow:
                one.close()
