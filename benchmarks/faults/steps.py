"""What a case asks the worker to run, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

LIMIT_S = 90.0  # wall time of a command on a busy machine; the runs of the benchmark take 1 to 5 seconds
GROWTH_MB = (
    700  # resident memory of a command beyond the imported libraries; an amalgamation of the benchmark takes about 100
)

Fault = Mapping[str, Any]
"""One of: {kill_at: n, torn: bool}; {kill_after: seconds, signal: 9}; {error_at: n, errno: "ENOSPC", on: bool};
{file_bytes: n}. The n-th is the n-th change of a file or folder below the case's folder that Python makes."""

Out = Literal["file", "full", "closed", "unread", "head"]
"""Where standard output goes: a file, /dev/full, a closed descriptor, a pipe that nobody reads, a pipe read for one line."""


@dataclass(frozen=True)
class Step:
    """One call of `alloykit …` in a folder. `after`: seconds to wait before it begins, for pairs. `pictures`: draw the report's.
    `ports`: of this machine, that it may connect to. `together`: a launcher has started it with the others, and ends them if one fails."""

    argv: list[str]
    folder: str
    stdin: str | None = None
    out: Out = "file"
    error: Out = "file"
    fault: Fault = field(default_factory=dict)
    after: float = 0.0
    limit_s: float = LIMIT_S
    environment: Mapping[str, str] = field(default_factory=dict)
    pictures: bool = False
    ports: list[int] = field(default_factory=list)
    together: bool = False

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `code`: the exit code, negative for a signal. `seen`: what the audit hook noticed."""

    code: int
    out: str
    error: str
    seconds: float
    growth_mb: float
    hung: bool = False
    changes: int = 0
    seen: list[str] = field(default_factory=list)


def step(folder: Path, *argv: object, **more: Any) -> Step:
    return Step([str(word) for word in argv], str(folder), **more)
