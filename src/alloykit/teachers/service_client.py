"""HTTP requests of a teacher that is a service: limits, retries and bounded answers."""

from __future__ import annotations

import email.utils
import json
import os
import random
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from alloykit.errors import AlloyError
from alloykit.names import short
from alloykit.teachers.service_settings import ServiceSettings

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
        self._client = httpx.Client(
            headers=headers,
            timeout=settings.timeout,
            follow_redirects=False,  # the key would go to another host
            limits=httpx.Limits(max_connections=settings.parallel),
            trust_env=urlsplit(settings.url).hostname not in _LOCAL,
        )
        self._stop, self._turn, self._next = threading.Event(), threading.Lock(), 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

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
            except self._httpx.HTTPError as error:
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
        data, begun = bytearray(), time.monotonic()
        with self._client.stream("POST", self._settings.url, json=body) as response:
            for part in response.iter_bytes(1 << 16):
                data += part
                if len(data) > MAX_BYTES:
                    raise UnreadableAnswer(f"more than {MAX_BYTES >> 20} MiB")
                if time.monotonic() - begun > self._settings.timeout:
                    raise self._httpx.ReadTimeout("the answer takes too long")
            return response.status_code, response.headers, bytes(data)

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
        return short(text.replace(self._key, "…") if self._key else text) if text.strip() else ""


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
        except (TypeError, ValueError):
            return 0.0
