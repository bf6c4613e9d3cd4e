"""How a service is asked: its address, its key, its speed and its limits."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, field_validator

from alloykit.teachers.protocol import TeacherSpec

SECRET = ("key", "token", "secret", "password", "signature")  # also as parts of names
SHORT_SECRET = ("auth", "code", "pwd", "sig")  # Azure's services send their keys as `code` and `sig`


class ServiceSettings(TeacherSpec):
    """The part of a service's entry that does not change its answers, and its address."""

    without_effect: ClassVar[tuple[str, ...]] = (
        "key_env", "key_header", "parallel", "per_second", "timeout", "retries", "backoff", "max_requests", "cost_per_request", "max_cost",
    )  # fmt: skip

    url: str
    """The full address, such as http://localhost:8000/v1/chat/completions."""
    key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)
    """The environment variable that has the key. The key itself is never written anywhere."""
    key_header: str = Field("Authorization", pattern=r"^[A-Za-z][A-Za-z0-9-]*$", max_length=100)
    """The header that sends the key. In `Authorization` it is sent as a bearer token."""
    parallel: int = Field(8, ge=1, le=256)
    """Requests at the same time."""
    per_second: float | None = Field(None, gt=0)
    """The largest number of requests in a second."""
    timeout: float = Field(60.0, gt=0, le=3600)
    """Seconds for one request."""
    retries: int = Field(5, ge=0, le=20)
    """How often a request is repeated after a time-out, and after the statuses 408, 425, 429 and 5xx."""
    backoff: float = Field(1.0, gt=0, le=300)
    """Seconds before the first repetition. Each further pause is twice as long; `Retry-After` of the service can make it longer."""
    max_requests: int | None = Field(None, ge=1)
    """The run stops with a message after so many requests, repetitions included, for one store of outputs."""
    cost_per_request: float | None = Field(None, ge=0)
    """What one request costs, in any currency."""
    max_cost: float | None = Field(None, gt=0)
    """The run stops with a message before the requests cost more than this. Needs `cost_per_request`."""

    @property
    def service(self) -> str | None:
        return self.url if self.key_env is None else f"{self.url}, with the key in ${self.key_env}"

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise ValueError("give an address such as http://localhost:8000/predict") from None
        if parts.username is not None or parts.password is not None:
            raise ValueError(
                "give the address without a user and a password; a key comes from the variable that `key_env` names"
            )
        names = [name.lower() for name, _ in parse_qsl(parts.query)]
        if any(name in SHORT_SECRET or any(word in name for word in SECRET) for name in names):
            raise ValueError("give the address without a key in it; a key comes from the variable that `key_env` names")
        if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in value):
            raise ValueError("give an address such as http://localhost:8000/predict")
        return value

    @property
    def host(self) -> str:
        """Scheme and host of the address, for messages."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def allowed_requests(self) -> int | None:
        """The number of requests that both limits allow; None without a limit."""
        limits = [self.max_requests] if self.max_requests is not None else []
        if self.max_cost is not None and self.cost_per_request:
            limits.append(int(self.max_cost / self.cost_per_request * (1 + 1e-9)))
        return min(limits, default=None)
