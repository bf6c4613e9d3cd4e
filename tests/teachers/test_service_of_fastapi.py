"""A service of FastAPI and uvicorn, with the faults that services have, as a teacher."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.responses import Response

from alloykit.teachers.protocol import Reading
from alloykit.teachers.service import ServiceSpec
from alloykit.web.run_server import listen
from alloykit.web.serve_options import ServeOptions

SLOW = 1.0  # seconds, more than the teacher waits


def app_with(faults: list[str], seen: list[str]) -> FastAPI:
    """Gives each fault once, and then answers. A text with "odd" gets a label that nobody listed, one with "broken" no JSON."""
    app = FastAPI()

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        [[text]] = (await request.json())["inputs"]
        fault = faults.pop(0) if faults else ""
        seen.append(fault or text)
        if fault == "429":
            return PlainTextResponse("slow down", 429, {"Retry-After": "0"})
        if fault == "500":
            return PlainTextResponse("oops", 500)
        if fault == "slow":
            await asyncio.sleep(SLOW)
        if text == "broken":
            return PlainTextResponse("<html>")
        if text == "odd":
            return JSONResponse([[{"label": "weather", "score": 1.0}]])
        return JSONResponse([[{"label": "bug", "score": 0.75}, {"label": "login", "score": 0.25}]])

    return app


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    place = listen(ServeOptions(port=0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}/predict"
    finally:
        server.should_exit = True
        thread.join(20)
        place.close()


@pytest.mark.slow
def test_faults_of_a_service_cost_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    faults, seen = ["429", "500", "slow"], list[str]()
    options: dict[str, Any] = {"format": "tei", "labels": ["bug", "login"], "batch": 1, "parallel": 1, "backoff": 0.001}
    with running(app_with(faults, seen)) as url:
        asks = ServiceSpec(url=url, timeout=0.2, **options).describe("service").load(Reading())
        found = asks.answer(asks.prepare(["a bug", "odd", "broken", "another"]), lambda n: None).logits.exp()
    assert seen[:4] == ["429", "500", "slow", "a bug"], "each fault is followed by another request"
    assert found[0].tolist() == pytest.approx([0.75, 0.25], abs=1e-5)
    assert found[3].tolist() == pytest.approx([0.75, 0.25], abs=1e-5)
    assert found[1:3].isnan().all(), "a label outside the list, and a malformed answer, are no answers"
    said = capsys.readouterr().err
    assert "unreadable answers" in said or "no answer" in said
