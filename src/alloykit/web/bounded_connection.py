"""A connection of the server that cannot be held open by a client that is slow, silent or gone."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

ANSWER_S = 5  # seconds that an answer may take longer than its request's timeout, until it is on its way


class BoundedConnection(H11Protocol):
    """uvicorn's connection with limits of its own.

    A complete head must arrive within `timeout_keep_alive` seconds of the connection's beginning or of the answer before it, no matter how
    many bytes come in between; uvicorn alone stops its clock at the first byte, and has none for a new connection. A request must be
    answered, and the answer taken, within `ANSWER_S` seconds more. If there are `limit_concurrency` connections, the one that has waited
    longest for a complete request makes room for the next.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.deadline: asyncio.TimerHandle | None = None
        self.since = 0.0

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client, which has sent no request, or a part of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._allow(self.timeout_keep_alive)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            waiting = [c for c in self.connections if isinstance(c, BoundedConnection) and c is not self and c.waits]
            if waiting:
                min(waiting, key=lambda c: c.since).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._allow(self.timeout_keep_alive + ANSWER_S)

    def on_response_complete(self) -> None:
        self._allow(self.timeout_keep_alive)
        super().on_response_complete()

    def drop(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _allow(self, seconds: float) -> None:
        """Drop the connection if the next step takes longer than this."""
        if self.deadline is not None:
            self.deadline.cancel()
        self.since = self.loop.time()
        self.deadline = self.loop.call_later(seconds, self.drop)
