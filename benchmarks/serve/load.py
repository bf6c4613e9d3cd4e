"""Requests per second and latency with 1, 8 and 64 clients, and what happens over the limit. Every answer is compared with `predict`."""

from __future__ import annotations

import csv
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloykit.serving.predictor import Predictor
from benchmarks.speed.measure import Measurement

CLIENTS, REQUESTS, LIMIT_S = (1, 8, 64), 1200, 60.0
OVER_CLIENTS, OVER_REQUESTS, OVER_QUEUE = 64, 1200, 8
TOLERANCE = 1e-4  # of a probability; the order of additions depends on the batch


@dataclass(frozen=True)
class Reply:
    """`status`: 0 if the connection broke. `right`: whether the answer is that of `predict`."""

    status: int
    seconds: float
    right: bool


def run(data: Path, work: Path) -> dict[str, Any]:
    demo = work / "demo"
    if not (demo / "run" / "student" / "config.json").exists():
        subprocess.run([sys.executable, "-m", "alloykit", "demo", "--output", str(demo)], check=True)
    with (demo / "data" / "test.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    student = Predictor.load(demo / "run" / "student", device="cpu")
    rows = student.probabilities(texts).tolist()
    expected = {text: dict(zip(student.labels, row, strict=True)) for text, row in zip(texts, rows, strict=True)}
    found: dict[str, Any] = {"student": student.model.num_parameters(), "texts": len(texts), "clients": {}}
    with server(demo / "run" / "student") as port:
        load(port, expected, 8, 100)  # a warm server
        for clients in CLIENTS:
            found["clients"][clients] = summary(*load(port, expected, clients, REQUESTS))
    limit = ("--queue", str(OVER_QUEUE), "--texts-per-request", str(OVER_QUEUE), "--batch", "4")
    with server(demo / "run" / "student", *limit) as port:
        over = summary(*load(port, expected, OVER_CLIENTS, OVER_REQUESTS))
        after = summary(*load(port, expected, 1, 50))
        found["over"] = {"clients": OVER_CLIENTS, "queue": OVER_QUEUE, **over, "after": after}
    return found


@contextmanager
def server(student: Path, *options: str) -> Iterator[int]:
    """A server in a process of its own; its port."""
    command = [sys.executable, "-m", "alloykit", "serve", str(student), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    if code:
        raise RuntimeError(f"the server ended with {code}")


def load(port: int, expected: dict[str, dict[str, float]], clients: int, requests: int) -> tuple[list[Reply], float]:
    """The replies to `requests` requests of one text by so many clients, each over one connection; and the seconds."""
    texts, end = list(expected), time.perf_counter() + LIMIT_S

    def client(number: int) -> list[Reply]:
        connection, replies = http.client.HTTPConnection("127.0.0.1", port, timeout=60), list[Reply]()
        for n in range(number, requests, clients):
            if time.perf_counter() > end:
                break
            text, begun = texts[n % len(texts)], time.perf_counter()
            try:
                connection.request(
                    "POST", "/predict", json.dumps({"inputs": text}), {"Content-Type": "application/json"}
                )
                answer = connection.getresponse()
                status, body = answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                status, body = 0, None
                connection.close()
            seconds = time.perf_counter() - begun
            replies.append(Reply(status, seconds, status == 200 and same(body, expected[text])))
        connection.close()
        return replies

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        found = [reply for replies in pool.map(client, range(clients)) for reply in replies]
    return found, time.perf_counter() - begun


def same(body: list[dict[str, Any]], expected: dict[str, float]) -> bool:
    """Whether all probabilities are those of `predict`."""
    got = {entry["label"]: entry["score"] for entry in body}
    return got.keys() == expected.keys() and all(abs(got[k] - expected[k]) <= TOLERANCE for k in got)


def summary(replies: list[Reply], seconds: float) -> dict[str, Any]:
    good = sorted(reply.seconds for reply in replies if reply.status == 200)
    return {
        "requests": len(replies),
        "statuses": dict(sorted(Counter(str(reply.status) for reply in replies).items())),
        "answered_per_second": round(len(good) / seconds, 1),
        "p50_ms": round(1000 * statistics.median(good), 1),
        "p99_ms": round(1000 * good[min(len(good) - 1, int(0.99 * len(good)))], 1),
        "wrong": sum(reply.status == 200 and not reply.right for reply in replies),
        "lost": sum(reply.status == 0 for reply in replies),
    }


TABLE = Measurement("load", "the server under load, and over its limit", run, paper="serve")
