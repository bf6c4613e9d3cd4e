"""The result of one check of `alloykit doctor`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from alloykit.errors import AlloyError


@dataclass(frozen=True)
class Finding:
    """name: what was checked. found: the result as text. level: `error` if it would stop a run, `note` for another problem. hint: what to do."""

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
