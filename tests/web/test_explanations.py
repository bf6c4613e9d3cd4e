"""The page asks the teachers in a thread of their own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi")

from running import Fake, Running, running

from alloykit.errors import AlloyError
from alloykit.finished_runs.explain_text import Explanation, TeacherAnswer
from alloykit.web import explanations

SLOW = 20  # seconds; no test waits so long


class Teachers:
    """An explainer whose answers wait for `gate`."""

    method, is_pair = "toy", False

    def __init__(self) -> None:
        self.begun, self.gate, self.asked = threading.Semaphore(0), threading.Event(), list[str]()

    def explain(self, text: str, pair: str | None) -> Explanation | None:
        self.asked.append(text)
        self.begun.release()
        assert self.gate.wait(SLOW)
        if text == "damaged":
            raise AlloyError(expected="a teacher", got="none")
        return Explanation("computed", [TeacherAnswer("first", {"bug": 1.0}, None)], None, None) if text else None


def explained(site: Running, text: str) -> Any:
    return site.post("/explain", {"text": text}).json


def test_slow_teachers_delay_no_prediction() -> None:
    teachers = Teachers()
    with running(Fake(), explainer=teachers) as site, ThreadPoolExecutor(1) as others:
        answer = others.submit(explained, site, "one")
        assert teachers.begun.acquire(timeout=SLOW)
        assert site.post("/predict", {"inputs": "two"}).status == 200, "the student answers meanwhile"
        assert not answer.done()
        teachers.gate.set()
        assert answer.result(SLOW)["teachers"]["answers"][0]["name"] == "first"


def test_what_cannot_be_explained_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "WAITING", 1)
    teachers = Teachers()
    with running(Fake(), explainer=teachers) as site, ThreadPoolExecutor(1) as others:
        failed = others.submit(explained, site, "damaged")
        assert teachers.begun.acquire(timeout=SLOW)
        busy = explained(site, "two")
        teachers.gate.set()
        assert "expected a teacher" in failed.result(SLOW)["why_no_teachers"]
        assert "busy" in busy["why_no_teachers"]
        assert explained(site, "three")["why_no_teachers"] is None, "there is room again"
    assert teachers.asked == ["damaged", "three"]
