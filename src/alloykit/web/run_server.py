"""Run the server until a signal comes, answer the accepted requests, and stop."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from alloykit.errors import AlloyError
from alloykit.progress import warn_line
from alloykit.web.bounded_connection import BoundedConnection
from alloykit.web.guard import is_loopback
from alloykit.web.serve_options import ServeOptions

MORE_THAN_THE_TIMEOUT_S = 5  # a stopping server waits so much longer than the timeout for its requests
MOST_CONNECTIONS = 4096
OTHER_FILES = 200  # open files that the process needs beside its connections


def listen(options: ServeOptions) -> socket.socket:
    """A listening socket. AlloyError for a port in use and for an address that this machine does not have."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except UnicodeError as error:  # a name that cannot be asked for
        raise _no_address(options, OSError(0, str(error))) from error
    except OSError as error:
        raise _no_address(options, error) from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Without it, the body of an answer waits up to 40 ms for the client to acknowledge its headers.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        raise _no_address(options, error) from error
    made.setblocking(False)
    return made


def run_server(app: Any, place: socket.socket, options: ServeOptions) -> None:
    """Serve until SIGINT or SIGTERM. Accepted requests are answered first; a second SIGINT does not wait for them."""
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)
    Server(server_config(app, options)).run(sockets=[place])


def server_config(app: Any, options: ServeOptions, connections: int | None = None) -> uvicorn.Config:
    """uvicorn's settings. A client has `timeout` seconds for a request, and for the next one on the same connection. connections: open at
    once, at most; None: as many as this process may have."""
    return uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on", http=BoundedConnection, ws="none",
        timeout_keep_alive=options.timeout, limit_concurrency=connections or _most_connections(),  # type: ignore[arg-type]
        timeout_graceful_shutdown=int(options.timeout) + MORE_THAN_THE_TIMEOUT_S,
    )  # fmt: skip


def _most_connections() -> int:
    """A connection needs an open file, and the system limits how many a process has."""
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    known = MOST_CONNECTIONS if allowed in (-1, resource.RLIM_INFINITY) else allowed - OTHER_FILES
    return max(16, min(MOST_CONNECTIONS, known))


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """False for the traceback that uvicorn logs when a second SIGINT cancels the running requests."""
    return "CancelledError" not in record.getMessage()


class Server(uvicorn.Server):
    """uvicorn's server, which ends normally after a signal: uvicorn itself would raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[override]
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def address_of(place: socket.socket, options: ServeOptions) -> str:
    """The address of the server, for a browser."""
    host, port = place.getsockname()[:2]
    name = options.host if is_loopback(options.host) else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def warn_of_exposure(options: ServeOptions) -> None:
    """Warn if other machines can reach the address."""
    if not is_loopback(options.host):
        warn_line(
            f"{options.host} is not this machine's loopback address: everybody who reaches the port can ask the student. "
            "The server has no passwords and no encryption; put a proxy that has both in front of it."
        )


def _no_address(options: ServeOptions, error: OSError) -> AlloyError:
    if error.errno == errno.EADDRINUSE:
        return AlloyError(
            expected=f"a free port on {options.host}",
            got=f"port {options.port}, which another program uses",
            hint="Choose another with --port, or let the system choose with --port 0.",
        )
    if error.errno == errno.EACCES:
        return AlloyError(
            expected="a port that you may use", got=f"port {options.port}", hint="Ports below 1024 need special rights."
        )
    return AlloyError(
        expected="an address of this machine for --host",
        got=f"'{options.host[:200]}' ({error.strerror or error})",
        hint="With 127.0.0.1 only this machine can reach the server, with 0.0.0.0 other machines too.",
    )
