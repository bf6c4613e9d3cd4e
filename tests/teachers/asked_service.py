"""Teachers that ask a service of this machine, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alloykit.teachers.protocol import Reading
from alloykit.teachers.service import ServiceSpec, ServiceTeacher

KEY = "sk-very-secret-0123456789"
FAST = {"backoff": 0.001, "labels": ["bug", "login"]}
CHAT = FAST | {"format": "openai", "model": "small"}
TEI = FAST | {"format": "tei"}


def teacher(url: str, folder: Path | None = None, **options: Any) -> ServiceTeacher:
    info = ServiceSpec(url=url, **options).describe("service")
    return info.load(Reading(folder=None if folder is None else str(folder)))


def answered(asks: ServiceTeacher, texts: list[str], pairs: list[str | None] | None = None) -> list[list[float]]:
    """Probabilities; [] where there is no answer."""
    found = asks.answer(asks.prepare(texts, pairs), lambda n: None).logits.exp()
    return [[] if bool(row.isnan().any()) else row.tolist() for row in found]


def near(*values: float) -> Any:
    return pytest.approx(values, abs=2e-6)


def scores(text: str) -> list[dict[str, Any]]:
    p = 0.75 if "bug" in text else 0.25
    return [{"label": "bug", "score": p}, {"label": "login", "score": 1 - p}]


def tei(body: Any) -> Any:
    return [scores(text) for text, *_ in body["inputs"]]
