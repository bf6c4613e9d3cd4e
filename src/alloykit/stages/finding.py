"""One thing that `alloykit doctor` looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from alloykit.errors import AlloyError


@dataclass(frozen=True)
class Finding:
    """name: what was looked at. found: the result in words. level: error if a run would stop here. hint: what to do."""

    name: str
    found: str
    level: Literal["ok", "note", "error"] = "ok"
    hint: str = ""

    @classmethod
    def of_error(cls, name: str, error: AlloyError) -> Finding:
        """An error that a run would stop with."""
        return cls(name, f"expected {error.expected}; got {error.got}", "error", error.hint)

    def values(self) -> dict[str, Any]:
        """As JSON-like values."""
        return asdict(self)
