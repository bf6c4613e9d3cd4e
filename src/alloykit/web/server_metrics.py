"""Counters and histograms of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ServerMetrics:
    """The numbers of one server since it began."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = made = CollectorRegistry()
        self.requests = Counter(
            "alloykit_requests", "Answered requests, errors included.", ["route", "status"], registry=made
        )
        self.latency = Histogram(
            "alloykit_request_seconds",
            "Seconds from a request to its answer.",
            ["route"],
            buckets=SECONDS,
            registry=made,
        )
        self.active = Gauge("alloykit_active_requests", "Requests that have no answer yet.", registry=made)
        self.texts = Counter("alloykit_texts", "Texts that were classified.", registry=made)
        self.truncated = Counter(
            "alloykit_truncated_texts", "Texts that were cut because they had too many tokens.", registry=made
        )
        self.batches = Histogram(
            "alloykit_batch_texts", "Texts that the student read at once.", buckets=TEXTS, registry=made
        )
        self.batch_seconds = Histogram(
            "alloykit_batch_seconds", "Seconds that the student needed for a batch.", buckets=SECONDS, registry=made
        )
        self.queue = Gauge("alloykit_queue_texts", "Texts in the queue.", registry=made)
        ProcessCollector(registry=made)

    def watch_queue(self, waiting: Callable[[], int]) -> None:
        """Ask this function for the length of the queue."""
        self.queue.set_function(lambda: float(waiting()))

    def batch(self, texts: int, seconds: float) -> None:
        """Count one batch."""
        self.batches.observe(texts)
        self.batch_seconds.observe(seconds)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests.labels(route, str(status)).inc()
        self.latency.labels(route).observe(seconds)

    def page(self) -> bytes:
        """All numbers as text."""
        return generate_latest(self.registry)
