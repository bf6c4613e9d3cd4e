"""Requests to `alloykit serve`: wrong JSON, wrong types, too much, too deep, foreign hosts, broken HTTP, slow and vanishing clients.

A case starts one server, sends it damaged requests, and asks a good one after each: the server must answer it as before. Each request counts as
a command: 0 for an answer with a status 2xx, 2 for a refusal with a message.

The last fifteen seeds send clients that hold connections: they send nothing, or a byte now and then, or do not ask again. Good requests must be
answered meanwhile, and the server must let go of each of these clients. Each kind of them counts as a command: 2.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.faults.cases import Case, judge
from benchmarks.faults.kinds import Kind
from benchmarks.faults.later import prepare
from benchmarks.faults.mutate import BYTES, VALUES, deep, spoil_value
from benchmarks.faults.steps import Outcome, step

GOOD = b'{"inputs": "where is my parcel"}'
BODIES: list[Any] = [
    {"inputs": "where is my parcel"}, {"inputs": [["a text"], ["another", "pair"]], "truncate": True, "raw_scores": False}, {"inputs": ["a", "b"]},
    {"inputs": "a text", "truncation_direction": "right"},
]  # fmt: skip
PATHS = [
    "/predict",
    "/predict",
    "/predict",
    "/predict",
    "/explain",
    "/explain",
    "/health",
    "/info",
    "/metrics",
    "/",
    "/docs",
    "/openapi.json",
    "/assets/x",
    "/nowhere",
]
HOSTS = [
    "example.org",
    "",
    "127.0.0.1:99999",
    "[::1",
    "localhost.",
    "127.0.0.1.example.org",
    "x" * 5_000,
    "\xff",
    "LOCALHOST",
    "127.0.0.1, example.org",
    "0.0.0.0",
    "[::1]:80",
]
LENGTHS = ["-1", "x", "1e3", "99999999999999999999", "9" * 5_000, "+5", "0x10", "", " 5", "5, 5", "١"]
REQUESTS = 12  # in a case
HOLDING = 45  # the first seed of the clients that hold connections
HOLDS = ("silent", "slow head", "slow body", "slow chunks", "never again", "slow again", "takes no answer")
PATIENCE = 8.0  # seconds for one answer


def _damaged(draw: random.Random, port: int) -> tuple[bytes, str, float]:
    """A request, what it is, and the pause between its bytes (0: all at once)."""
    how = draw.choices(
        ("values", "bytes", "large", "deep", "host", "length", "protocol", "headers", "slow", "gone", "path"),
        (34, 14, 9, 5, 9, 8, 9, 6, 3, 5, 6),
    )[0]
    path, body, host, method = (
        draw.choice(PATHS[:6]),
        json.dumps(draw.choice(BODIES)).encode(),
        f"127.0.0.1:{port}",
        "POST",
    )
    more, pause, length = "", 0.0, ""
    if how == "values":
        value = draw.choice(BODIES) if path == "/predict" else {"text": "where is my parcel", "pair": None}
        odd = VALUES | {"half a pair": "a\udfffb", "a huge number": 10**400, "infinity": float("inf")}
        with suppress(RecursionError):  # of what copies and writes it
            for _ in range(draw.choice((1, 1, 3))):
                value, _ = spoil_value(value, draw, odd)
            body = json.dumps(value).encode("utf-8", "surrogatepass")
    elif how == "bytes":
        body = BYTES[draw.choice(sorted(BYTES))](body, draw)
    elif how == "large":
        text = draw.choice(
            ("x" * 19_999, "x" * 2_000_000, "é" * 30_000, "\U0001f600" * 10_000, " " * 20_000, "\0" * 5_000)
        )
        body = json.dumps(
            draw.choice(
                [
                    {"inputs": text},
                    {"inputs": [["x"]] * 10_000},
                    {"inputs": [[text[:5000]]] * 30},
                    {"text": text},
                    {"inputs": "a", text[:5000]: 1},
                ]
            )
        ).encode()
    elif how == "deep":
        body = draw.choice(
            (json.dumps({"inputs": deep(300)}).encode(), b'{"inputs": ' + b"[" * 50_000, b"[" * 5_000 + b"]" * 5_000)
        )
    elif how == "host":
        host = draw.choice(HOSTS)
    elif how == "length":
        length = draw.choice(LENGTHS)
    elif how == "headers":
        more = draw.choice(("X: " + "y" * 100_000 + "\r\n", "X: y\r\n" * 3_000, "Content-Type: text/plain\r\n", "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n",
                            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n", "Content-Type: multipart/form-data; boundary=x\r\n", "Host: example.org\r\n", "Content-Type: application/json; charset=utf-16\r\n", "Cookie: \xff\r\n"))  # fmt: skip
    elif how == "path":
        path = draw.choice(
            (
                *PATHS,
                "/../etc/passwd",
                "/assets/..%2f..%2fetc%2fpasswd",
                "/%00",
                "/predict?x=" + "y" * 5_000,
                "*",
                "http://example.org/predict",
                "//predict",
                "/predict\x00",
                "/%ff",
                "/assets/\x1b[31m",
            )
        )
        method = draw.choice(("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "x" * 500, "get"))
    elif how == "slow":
        pause = draw.choice((0.02, 0.3))
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{more}Content-Length: {length or len(body)}\r\nConnection: close\r\n\r\n"
    data = head.encode("latin-1", "replace") + body
    if how == "protocol":
        data = draw.choice((
            b"", b"\r\n" * 50, b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", draw.randbytes(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n" + b"x" * 3_000_000,
            b"POST /predict HTTP/1.1\r\n\r\n", data + b"GET / HTTP/1.1\r\n\r\nrubbish", b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}    ",
        ))  # fmt: skip
    if how == "gone":
        data = data[: draw.randrange(1, len(data))]
    return data, how, pause


def _ask(port: int, data: bytes, pause: float = 0.0, stay: bool = True) -> tuple[int, bytes, float]:
    """Status (0 without an answer), body and seconds."""
    begun = time.perf_counter()
    found = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        if pause:
            for i in range(0, len(data), max(1, len(data) // 8)):
                connection.sendall(data[i : i + max(1, len(data) // 8)])
                time.sleep(pause)
        else:
            with suppress(OSError):  # it may have answered and closed before all was sent
                connection.sendall(data)
        if stay:
            while len(found) < 1_000_000 and (part := connection.recv(65536)):
                found += part
    head, _, body = found.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.\d (\d+)", head)
    return int(status[1]) if status else 0, body, time.perf_counter() - begun


def _held(
    port: int,
    what: str,
    number: int,
    draw: random.Random,
    answers: Callable[[], bool],
    sockets: Callable[[], int],
    least: int,
) -> Outcome:
    """So many clients of this kind at once: whether the server answers others meanwhile, and lets go of these in time."""
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n".encode()
    good, more = head + f"Content-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD, b"X: y\r\n" * 10_000
    begin, slowly = {
        "silent": (b"", b""),
        "slow head": (draw.choice((b"", b"GET / HTTP/1.1\r\n", head)), more),
        "slow body": (head + b"Content-Length: 100000\r\n\r\n", b" " * 100_000),
        "slow chunks": (head + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000),
        "never again": (good, b""),
        "slow again": (good, draw.choice((b"GET / HTTP/1.1\r\n", b"\r\n", head)) + more),
        "takes no answer": (b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2_000, b""),
    }[what]
    begun, pause = time.perf_counter(), draw.choice((0.01, 0.2))
    clients = list[socket.socket]()
    try:
        for _ in range(number):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            clients[-1].setblocking(False)
            with suppress(OSError):
                clients[-1].send(begin)
        at, fine, before = 0, answers(), time.perf_counter()  # by now the server has taken the connections
        while (held := sockets() > least) and time.perf_counter() - before < 2 * PATIENCE:
            fine = answers() and fine
            for one in clients:
                with suppress(OSError):
                    one.send(slowly[at : at + 1])
                if what != "takes no answer":
                    with suppress(OSError):
                        one.recv(65536)
            at += 1
            time.sleep(pause)
    finally:
        for one in clients:
            one.close()
    seconds = time.perf_counter() - begun
    if not fine:
        return Outcome(
            1, "", f"a good request had no answer beside {number} clients of the kind '{what}'", seconds, 0.0
        )
    return Outcome(2, "", "error: expected a request", seconds, 0.0, hung=held)


def _sockets(log: Path) -> int:
    """How many sockets the server has open."""
    number = 0
    for path in log.glob("*.pid"):
        for file in Path("/proc", path.read_text().strip(), "fd").iterdir():
            with suppress(OSError):
                number += os.readlink(file).startswith("socket:")
    return number


class _Client(threading.Thread):
    """Waits for the server, asks it, and stops it."""

    def __init__(self, case: Case) -> None:
        super().__init__(daemon=True)
        self.case, self.port, self.done, self.how = case, 0, list[Outcome](), list[str]()

    def run(self) -> None:
        log = self.case.folder / "log"
        try:
            if (port := self._port(log)) is not None:
                self._talk(port)
        finally:
            for path in log.glob("*.pid"):
                with suppress(ProcessLookupError, ValueError):
                    os.kill(int(path.read_text()), signal.SIGTERM)

    def _port(self, log: Path) -> int | None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for path in log.glob("*.out"):
                if (found := re.search(r"serving at http://127\.0\.0\.1:(\d+)", path.read_text())) is not None:
                    return int(found[1])
            if any(log.glob("*.modules")):  # it has ended
                return None
            time.sleep(0.02)
        return None

    def _talk(self, port: int) -> None:
        draw, log = self.case.draw, self.case.folder / "log"
        good = (
            f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(GOOD)}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n".encode()
            + GOOD
        )
        wanted = _ask(port, good)
        self.case.demand(wanted[0] == 200, "lost", f"a good request got {wanted[0]} {wanted[1][:200]!r}")
        if self.case.seed >= HOLDING:
            time.sleep(0.3)  # until the connection above is gone
            least = _sockets(log)
            for what in HOLDS:
                number = draw.choice((1, 20, 1_000)) if what == "silent" else draw.choice((1, 20))
                self.how.append(f"{number} × {what}")
                self.done.append(
                    _held(port, what, number, draw, lambda: _ask(port, good)[0] == 200, lambda: _sockets(log), least)
                )
            return
        for _ in range(REQUESTS):
            data, how, pause = _damaged(draw, port)
            status, body, seconds = _ask(port, data, pause, stay=how != "gone")
            self.how.append(f"{how} {status}")
            fault = "" if status != 500 else "Traceback (most recent call last): status 500 to " + repr(data[:300])
            if status >= 400 and status not in (404, 405) and how in ("values", "bytes", "large", "deep", "host"):
                with suppress(ValueError):
                    fault = fault or ("" if "error" in json.loads(body) else f"no message: {body[:100]!r}")
            self.done.append(
                Outcome(
                    0 if 200 <= status < 400 or not status else 2,
                    "",
                    fault or "error: expected a good request",
                    seconds,
                    0.0,
                )
            )
            again = _ask(port, good)
            if again[:2] != wanted[:2]:
                self.done[-1] = Outcome(
                    1, "", f"after {how} {data[:200]!r} a good request got {again[0]} {again[1][:100]!r}", seconds, 0.0
                )


def make(case: Case) -> None:
    prepare(case, "update with labels")
    holding = case.seed >= HOLDING
    argv = ["serve", "run", "--port", "0", "--timeout", "1" if holding else "5"]
    damaged = ""
    if case.seed % 3 == 0:
        shutil.copytree(case.stock.reference("exported").folder / "export", case.folder / "run" / "export")
        argv.append("--onnx")
    if case.seed % 4 == 1:
        argv.append("--teachers")
    if case.seed % 5 == 2 and not holding:
        from benchmarks.faults.finished import damage

        damaged = damage(case, case.folder / "run")
    client = _Client(case)
    client.start()
    case.run(step(case.folder, *argv, ports=[0, 1]))
    client.join(120)
    case.demand(not client.is_alive(), "hang", "a request without an answer")
    case.about = f"{' '.join(argv)}{', ' + damaged if damaged else ''}: {', '.join(client.how)}"
    for outcome in client.done:
        case.faults += judge(outcome)
    case.outcomes += client.done
    if not damaged:
        case.demand(
            case.outcomes[0].code == 0,
            "exit code",
            f"after SIGTERM: {case.outcomes[0].code} {case.outcomes[0].error[-200:]}",
        )
        case.demand(
            len(client.done) == (len(HOLDS) if holding else REQUESTS),
            "lost",
            f"{len(client.done)} requests were answered",
        )


TABLE = Kind("requests", "Damaged and slow requests to the server", 60, make)
