"""A request that gets an error as its answer, with the messages and codes of text-embeddings-inference."""

from __future__ import annotations

import json
from collections.abc import Mapping

STATUS = {"Empty": 400, "Validation": 413, "Tokenizer": 422, "Backend": 424, "Overloaded": 503, "Unhealthy": 503}
"""The HTTP status of each error type. text-embeddings-inference has 429 for Overloaded."""
RETRY_S = 1  # for the header Retry-After


class Refused(Exception):
    """A request that gets an error as its answer. kind: a key of STATUS. status: the HTTP status, if it is not the one in STATUS. more: headers of the
    answer beside those that all errors have."""

    def __init__(
        self, message: str, kind: str, status: int | None = None, more: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.more = kind, status or STATUS[kind], dict(more or {})

    @property
    def body(self) -> bytes:
        """{"error": …, "error_type": …} as JSON."""
        return json.dumps({"error": str(self), "error_type": self.kind}, ensure_ascii=True).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        again = {"retry-after": str(RETRY_S)} if self.status == 503 else {}
        return self.more | {"content-type": "application/json"} | again
