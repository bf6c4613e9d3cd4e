"""The limits of a server."""

from __future__ import annotations

from dataclasses import dataclass, fields

from alloykit.errors import AlloyError

SMALLEST_BODY = 2_000_000  # bytes that a request may always have
BYTES_PER_CHARACTER = 12  # the longest form of a character in JSON: two \uXXXX


@dataclass(frozen=True)
class ServeOptions:
    """Where a server listens, and its limits. AlloyError for invalid values.

    host, port: where it listens; port 0: a free one. batch: texts that the student reads at once, at most. wait_ms: how long the first text
    of a batch waits for others, in milliseconds. queue: texts that may wait. texts_per_request: texts of a request, at most. characters:
    of a text, at most. timeout: seconds after which a request gets status 503. threads: of the computation; None: as many as torch chooses.
    truncate: whether long texts are cut if a request has no `truncate`. allowed_hosts: other host names to which a server on a loopback
    address answers.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    batch: int = 32
    wait_ms: float = 2.0
    queue: int = 512
    texts_per_request: int = 32
    characters: int = 20_000
    timeout: float = 30.0
    threads: int | None = None
    truncate: bool = True
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lowest = {
            "port": 0,
            "batch": 1,
            "wait_ms": 0,
            "queue": 1,
            "texts_per_request": 1,
            "characters": 1,
            "threads": 1,
        }
        for name, least in lowest.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise AlloyError(expected=f"{option(name)} of at least {least}", got=f"{value}")
        if self.port > 65535:
            raise AlloyError(expected="--port of at most 65535", got=f"{self.port}")
        if not 0 < self.timeout < float("inf"):
            raise AlloyError(expected="--timeout of more than 0 seconds", got=f"{self.timeout}")
        if not self.wait_ms < 1000 * self.timeout:
            raise AlloyError(
                expected="--wait-ms shorter than --timeout",
                got=f"{self.wait_ms} ms",
                hint="A few milliseconds are usual.",
            )
        if self.texts_per_request > self.queue:
            raise AlloyError(
                expected=f"--queue of at least {self.texts_per_request} texts, those of one request",
                got=f"{self.queue}",
                hint="Raise --queue, or lower --texts-per-request.",
            )

    @property
    def body(self) -> int:
        """Bytes that a request may have."""
        return max(SMALLEST_BODY, BYTES_PER_CHARACTER * self.characters)


def option(name: str) -> str:
    """The command's option for a field. ValueError for another name."""
    if name not in {field.name for field in fields(ServeOptions)}:
        raise ValueError(f"no such option: {name}")
    return "--" + name.replace("_", "-")
