"""Checks and limits of every request: host, size and time. Also adds safe headers, and counts the request."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from alloykit.web.refused import Refused
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
MORE_THAN_THE_QUEUE = 64  # complete requests that may have no answer yet while the queue is full
SMALL_BODY = 65_536  # bytes that every request may send, however much the others have sent
DIGITS = 20  # of a Content-Length; Python's `int` refuses thousands of them
LARGE_BODIES = 64  # bodies of the largest size that may be in memory at once


class Guard:
    """An ASGI application around another one. routes: the paths that are counted separately."""

    def __init__(self, app: Any, *, options: ServeOptions, metrics: ServerMetrics, routes: Collection[str]) -> None:
        self.app, self.options, self.metrics, self.routes = app, options, metrics, frozenset(routes)
        self.active = 0  # requests that have no answer yet
        self.complete = 0  # those of them that have arrived
        self.bytes = 0  # of their bodies
        local = is_loopback(options.host)
        self.hosts = frozenset((*LOOPBACK_NAMES, options.host, *options.allowed_hosts)) if local else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route = scope["path"] if scope["path"] in self.routes else "other"
        begun, status, held = time.perf_counter(), 0, _Held()

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = message | {"headers": [*message.get("headers", ()), *extra]}
            await send(message)

        self.active += 1
        self.metrics.active.set(self.active)
        try:
            try:
                self._check(scope)
                async with asyncio.timeout(self.options.timeout):
                    body = await self._body(receive, held)
                    self._begin(held)
                    # HEAD is GET without a body, for checks of load balancers; the server that sends the answer leaves the body out.
                    verb = "GET" if scope["method"] == "HEAD" else scope["method"]
                    await self.app(scope | {"method": verb}, _again(body, receive), answer)
            except TimeoutError:
                raise self._too_late(held) from None
        except Refused as refused:
            if not status:
                headers = [(name.encode(), value.encode()) for name, value in refused.headers.items()]
                await answer({"type": "http.response.start", "status": refused.status, "headers": headers})
                await answer({"type": "http.response.body", "body": refused.body})
        except _Gone:
            status = 499  # the client closed the connection, so there is no answer
        finally:
            self.active -= 1
            self.complete -= held.complete
            self.bytes -= held.bytes
            self.metrics.active.set(self.active)
            self.metrics.request(route, status or 500, time.perf_counter() - begun)

    def _check(self, scope: Any) -> None:
        """Refused for a host name that is not allowed, and for a Content-Length that is too large."""
        headers = dict(scope["headers"])
        if self.hosts is not None and (host := host_of(headers.get(b"host", b""))) not in self.hosts:
            raise Refused(
                f"this server does not answer requests for the host {ascii(host)[:100]}; `--allowed-hosts` allows it",
                "Validation",
                421,
            )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > DIGITS or int(length) > self.options.body:
            raise self._too_large()

    def _begin(self, held: _Held) -> None:
        """Count a request that has arrived. Refused if there are too many: those that arrive slowly keep no other from its answer."""
        held.complete = True
        self.complete += 1
        if self.complete > self.options.queue + MORE_THAN_THE_QUEUE:
            raise Refused("Model is overloaded", "Overloaded")

    async def _body(self, receive: Any, held: _Held) -> bytes:
        """The whole body. Refused if it is too large, or if it is not small and the others take too much memory."""
        parts = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            parts.append(message.get("body", b""))
            held.bytes += len(parts[-1])
            self.bytes += len(parts[-1])
            if held.bytes > self.options.body:
                raise self._too_large()
            if held.bytes > SMALL_BODY and self.bytes > LARGE_BODIES * self.options.body:
                raise Refused("Model is overloaded", "Overloaded")
            if not message.get("more_body"):
                return b"".join(parts)

    def _too_late(self, held: _Held) -> Refused:
        if not held.complete:
            return Refused(
                f"expected the whole request within {self.options.timeout:g} seconds; got a part of it",
                "Validation",
                408,
            )
        return Refused(f"no answer within {self.options.timeout:g} seconds", "Overloaded")

    def _too_large(self) -> Refused:
        return Refused(f"expected a request of at most {self.options.body} bytes; got more", "Validation")


@dataclass
class _Held:
    """What one request takes."""

    bytes: int = 0
    complete: bool = False


class _Gone(Exception):
    """The client closed the connection before its request was complete."""


def _again(body: bytes, receive: Any) -> Any:
    """A `receive` that first gives the body, which was already read."""
    given = False

    async def read() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server on this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header: bytes) -> str:
    """The name in a Host header, without its port."""
    name = header.decode("latin-1").strip().lower()
    if name.startswith("["):
        return name[1:].split("]")[0]
    return name.rsplit(":", 1)[0] if name.count(":") == 1 else name
