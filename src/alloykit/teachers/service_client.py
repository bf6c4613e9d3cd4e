"""HTTP requests of a teacher that is a service: limits, retries and bounded answers."""

from __future__ import annotations

import contextlib
import email.utils
import json
import os
import random
import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlsplit

from alloykit.errors import AlloyError
from alloykit.names import short
from alloykit.teachers.service_settings import ServiceSettings
from alloykit.teachers.without_key import without_key

MAX_BYTES = 16 << 20  # of one answer
LONGEST_PAUSE = 300.0  # seconds before a retry, whatever the service asks for
AGAIN = "Finished answers are kept: run the same command again."
_REFUSED = (400, 413, 422)  # this request cannot be answered; another one may be
_LATER = (408, 425, 429)  # and 500 to 599
_LOCAL = ("localhost", "127.0.0.1", "::1")


class UnreadableAnswer(Exception):
    """An answer that gives no labels. The message says what is wrong with it. `refused`: the service refused the request."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class _Connection:
    """The connection of one thread. An answer has a limit of size, and one of time, whatever comes in that time."""

    def __init__(self, httpx: Any, options: dict[str, Any]) -> None:
        self._httpx, self._lock, self._socket = httpx, threading.Lock(), None
        self._client = httpx.Client(**options, limits=httpx.Limits(max_connections=1))

    def post(self, url: str, body: Any, seconds: float) -> tuple[int, Any, bytes]:
        """Status, headers and content."""
        data, done, late = bytearray(), False, False

        def end() -> None:  # httpx limits only the time between two parts, and a part may be one byte
            nonlocal late
            with self._lock:
                late = not done
                if late and self._socket is not None:
                    with contextlib.suppress(OSError, ValueError):
                        mine = socket.socket(fileno=os.dup(self._socket.fileno()))
                        mine.shutdown(socket.SHUT_RDWR)
                        mine.close()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            with self._client.stream("POST", url, json=body, extensions={"trace": self._trace}) as response:
                for part in response.iter_raw():  # not decoded: a small answer can become a huge one
                    data += part
                    if len(data) > MAX_BYTES:
                        raise UnreadableAnswer(f"more than {MAX_BYTES >> 20} MiB")
                status, headers = response.status_code, response.headers
        except self._httpx.HTTPError as error:
            if late:
                raise self._httpx.ReadTimeout("the answer takes too long") from error
            raise
        finally:
            timer.cancel()
            with self._lock:
                done = True
        if late:  # what was read when the connection was closed may look complete
            raise self._httpx.ReadTimeout("the answer takes too long")
        return status, headers, _decoded(bytes(data), headers.get("content-encoding", ""))

    def _trace(self, event: str, info: Any) -> None:
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"].get_extra_info("socket")

    def close(self) -> None:
        self._client.close()


class ServiceClient:
    """Posts JSON to one address, from several threads. Use it as a context."""

    def __init__(self, settings: ServiceSettings, teacher: str, spend: Callable[[], None]) -> None:
        """spend: called before every request; AlloyError where no more are allowed. AlloyError without httpx or without the key."""
        try:
            import httpx
        except ImportError as error:
            raise AlloyError(
                expected="httpx, to ask a service",
                got="no such package",
                hint="Install it: pip install 'alloykit[service]'.",
            ) from error
        self._httpx, self._settings, self._teacher, self._spend = httpx, settings, teacher, spend
        self._key, headers = service_key(settings, teacher), {"Accept-Encoding": "identity"}
        if self._key:
            bearer = settings.key_header.lower() == "authorization"
            headers[settings.key_header] = f"Bearer {self._key}" if bearer else self._key
        local = urlsplit(settings.url).hostname in _LOCAL
        self._options: dict[str, Any] = {
            "headers": headers,
            "timeout": settings.timeout,
            "follow_redirects": False,  # the key would go to another host
            "trust_env": not local,
            "verify": httpx.create_ssl_context(),
        }
        self._connections, self._mine = list[_Connection](), threading.local()
        self._stop, self._turn, self._next = threading.Event(), threading.Lock(), 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.close()

    def stop(self) -> None:
        """End all waits, so that threads end after their present request."""
        self._stop.set()

    def post(self, body: Any) -> Any:
        """The JSON that answers a JSON. UnreadableAnswer for one that cannot be read; AlloyError if the service does not answer."""
        settings, problem = self._settings, ""
        for attempt in range(settings.retries + 1):
            self._wait_for_turn()
            self._spend()
            pause = settings.backoff * 2**attempt * (0.5 + random.random())
            try:
                status, headers, data = self._send(body)
            except self._httpx.TimeoutException:
                problem = f"nothing within {settings.timeout:g} seconds"
            except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
                problem = f"{type(error).__name__}: {self._clean(str(error))}"
            else:
                if 200 <= status < 300:
                    return _parsed(data)
                problem = f"HTTP {status}" + (
                    f": {text}" if (text := self._clean(data.decode(errors="replace"))) else ""
                )
                if status not in _LATER and status < 500:
                    raise self._final(status, problem, headers.get("location", ""))
                pause = max(pause, _asked_pause(headers.get("retry-after", "")))
                if status == 429:
                    with self._turn:
                        self._next = max(self._next, time.monotonic() + min(pause, LONGEST_PAUSE))
            if attempt < settings.retries:
                self._stop.wait(min(pause, LONGEST_PAUSE))
        raise AlloyError(
            expected=f"an answer of teacher '{self._teacher}' from {settings.host}",
            got=f"{problem} ({settings.retries + 1} times)",
            hint=f"{AGAIN} Lower `parallel` or set `per_second` if the service has too much to do.",
        )

    def _wait_for_turn(self) -> None:
        with self._turn:
            at = max(time.monotonic(), self._next)
            if self._settings.per_second:
                self._next = at + 1 / self._settings.per_second
        if self._stop.wait(max(0.0, at - time.monotonic())):
            raise AlloyError(expected="to finish", got="a stop")  # nobody sees it: the first error is raised

    def _send(self, body: Any) -> tuple[int, Any, bytes]:
        """Status, headers and content. The time limit holds for the whole answer, not only for each part of it."""
        connection: _Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = _Connection(self._httpx, self._options)
            self._connections.append(connection)
        return connection.post(self._settings.url, body, self._settings.timeout)

    def _final(self, status: int, problem: str, location: str) -> Exception:
        """The error for a status that a retry does not change."""
        if status in _REFUSED:
            return UnreadableAnswer(problem, refused=True)
        hint = "Check `url`, `model` and `request`."
        if status in (401, 403):
            named = f"the variable {self._settings.key_env}" if self._settings.key_env else "`key_env`"
            hint = f"Check {named}, which has the key."
        if 300 <= status < 400:
            problem = f"HTTP {status}, a redirect to '{self._clean(location)}'"
            hint = (
                "Redirects are not followed, so that the key goes to no other host. Write the final address as `url`."
            )
        return AlloyError(
            expected=f"an answer of teacher '{self._teacher}' from {self._settings.host}", got=problem, hint=hint
        )

    def _clean(self, text: str) -> str:
        """A text of the service for a message: short, and without the key, which services may repeat."""
        return short(self.without_key(text[:500])) if text.strip() else ""

    def without_key(self, text: str) -> str:
        """A message that may quote an answer of the service, without the key."""
        return without_key(text, self._key)


def service_key(settings: ServiceSettings, teacher: str) -> str:
    """The key of a service from its environment variable; "" for a service without one. AlloyError. No message has the key."""
    if settings.key_env is None:
        return ""
    key = os.environ.get(settings.key_env, "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise AlloyError(
            expected=f"the key of teacher '{teacher}' in the environment variable {settings.key_env}",
            got="a value with spaces or other characters that no key has" if key else "none",
            hint=f"Set it: export {settings.key_env}=….",
        )
    return key


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableAnswer(f"no JSON: '{short(data[:100].decode(errors='replace'))}'") from None


def _asked_pause(value: str) -> float:
    """Seconds of a Retry-After header: a number or a date; 0 for anything else."""
    try:
        return max(0.0, float(value))
    except ValueError:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError, OverflowError):
            return 0.0


def _decoded(data: bytes, encodings: str) -> bytes:
    """The content of an answer that came compressed although no compression was asked for. UnreadableAnswer if it is too much."""
    names = [name.strip().lower() for name in encodings.split(",")]
    wanted = [name for name in names if name not in ("", "identity")]
    if not wanted:
        return data
    if wanted not in (["gzip"], ["deflate"]):
        raise UnreadableAnswer(f"an answer compressed as '{short(encodings)}'")
    try:
        found = zlib.decompressobj(wbits=47).decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise UnreadableAnswer(f"an answer compressed as '{wanted[0]}' that is damaged ({error})") from None
    if len(found) > MAX_BYTES:
        raise UnreadableAnswer(f"more than {MAX_BYTES >> 20} MiB")
    return found
