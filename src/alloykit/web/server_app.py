"""The routes of the server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from alloykit.errors import AlloyError
from alloykit.finished_runs.explain_text import TextExplainer
from alloykit.serving.batcher import Batcher, Closed, QueueFull
from alloykit.serving.classifier import Classifier
from alloykit.serving.classify import Answer, Asked, TooLong, classify
from alloykit.web.guard import Guard
from alloykit.web.pages import asset, reference_page, try_page
from alloykit.web.predict_request import SHAPES, PredictRequest, check_text
from alloykit.web.refused import Refused
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics
from alloykit.web.views import explanation_view, scores_view

TYPES = {
    "style.css": "text/css; charset=utf-8",
    "try.css": "text/css; charset=utf-8",
    "try.js": "text/javascript; charset=utf-8",
}


class ScoredLabels(BaseModel):
    """A label and its score."""

    score: float
    label: str


class ErrorBody(BaseModel):
    """What went wrong."""

    error: str
    error_type: str


class ExplainRequest(BaseModel):
    """One text, and its second text if the student reads pairs."""

    text: str
    pair: str | None = None


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "An empty text"},
    413: {"model": ErrorBody, "description": "Too many texts, or a text that is too long"},
    422: {"model": ErrorBody, "description": "The body is not JSON of this form"},
    424: {"model": ErrorBody, "description": "The student could not answer"},
    503: {"model": ErrorBody, "description": "Too many requests, or the server is stopping. Try again."},
}


def server_app(
    classifier: Classifier,
    options: ServeOptions,
    *,
    name: str,
    explainer: TextExplainer | None = None,
    why_no_teachers: str = "",
    threads: Any = None,
) -> Guard:
    """The ASGI application. name: the model's name on its pages. explainer: gives the teachers' answers for the page; without one the page
    shows `why_no_teachers`. threads: a function that is called first in the thread that computes."""
    metrics = ServerMetrics()
    batcher: Batcher[Asked, Answer] = Batcher(
        lambda asked: classify(classifier, asked),
        max_batch=options.batch,
        max_wait=options.wait_ms / 1000,
        max_queue=options.queue,
        observe=metrics.batch,
        begin=threads or (lambda: None),
    )
    metrics.watch_queue(lambda: batcher.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()

    app = FastAPI(
        title=f"alloykit: {name}", version=version("alloykit"), docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Classifies texts. /predict is compatible with text-embeddings-inference.",
    )  # fmt: skip
    app.add_exception_handler(Refused, lambda _, e: _error(e))
    app.add_exception_handler(RequestValidationError, lambda _, e: _error(_invalid(e)))
    app.add_exception_handler(HTTPException, lambda _, e: _error(Refused(str(e.detail), "Validation", e.status_code)))  # type: ignore[attr-defined]
    app.add_exception_handler(Exception, lambda _, e: _error(Refused("the server failed", "Backend", 500)))

    async def answers(asked: Sequence[Asked]) -> list[Answer]:
        """An answer for each text. Refused if one text has none."""
        try:
            found = await batcher.submit(asked)
        except QueueFull:
            raise Refused("Model is overloaded", "Overloaded") from None
        except Closed:
            raise Refused("the server is stopping", "Unhealthy") from None
        for result in found:
            if isinstance(result, Exception):
                raise _no_answer(result)
        good = [result for result in found if isinstance(result, Answer)]
        metrics.texts.inc(len(good))
        metrics.truncated.inc(sum(answer.truncated for answer in good))
        return good

    @app.post("/predict", responses={200: {"model": list[ScoredLabels] | list[list[ScoredLabels]]}, **ERRORS})
    async def predict(request: PredictRequest) -> Response:
        """The probability of every label, the highest first. One text: a list. A batch: a list of lists. A student of several questions gives the
        labels of all of them, such as `topic: sports`; the probabilities of a question sum to one. Those of a multi-label student do not."""
        found = await answers(request.asked(options))
        lists = [scores_view(classifier.labels, answer.scores) for answer in found]
        return _json(lists if request.is_batch else lists[0])

    @app.post("/explain", responses=ERRORS)
    async def explain(request: ExplainRequest) -> Response:
        """What the page at / shows of one text: the student's answer, each teacher's, and the target that the method formed."""
        check_text(request.text, request.pair, options)
        (answer,) = await answers([Asked(request.text, request.pair)])
        explained, why = None, why_no_teachers
        if explainer is not None:
            ready = explainer
            try:
                explained = await batcher.call(lambda: ready.explain(request.text, request.pair))
                why = "" if explained else NOT_IN_POOL
            except (QueueFull, Closed):
                why = "The server is busy. Try again."
            except AlloyError as error:
                why = str(error)
        return _json(explanation_view(classifier.parts, answer, explained, explainer.method if explainer else "", why))

    @app.get("/health", responses={503: ERRORS[503]})
    async def health() -> Response:
        """200 if the server can answer."""
        if not batcher.alive:
            raise Refused("unhealthy", "Unhealthy")
        return Response(status_code=200)

    @app.get("/info")
    async def info() -> Response:
        """The model and the limits of this server."""
        id2label = {str(i): label for i, label in enumerate(classifier.labels)}
        return _json(
            {
                "model_id": name,
                "model_type": {
                    "classifier": {"id2label": id2label, "label2id": {v: int(k) for k, v in id2label.items()}}
                },
                "max_input_length": classifier.max_length,
                "max_client_batch_size": options.texts_per_request,
                "max_batch_requests": options.batch,
                "auto_truncate": options.truncate,
                "version": version("alloykit"),
            }
        )

    @app.get("/metrics")
    async def metrics_page() -> Response:
        """Counters and histograms for Prometheus."""
        return Response(metrics.page(), media_type=metrics.content_type)

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(try_page(name, pairs=explainer is None or explainer.is_pair, options=options))

    @app.get("/docs", include_in_schema=False)
    async def reference() -> HTMLResponse:
        return HTMLResponse(reference_page(name, app.openapi()))

    @app.get("/assets/{file}", include_in_schema=False)
    async def assets(file: str) -> Response:
        if file not in TYPES:
            raise HTTPException(404, "Not Found")
        return Response(asset(file), media_type=TYPES[file])

    @app.get("/favicon.ico", include_in_schema=False)
    async def no_icon() -> Response:
        return Response(status_code=204)

    routes = {route.path for route in app.routes if "{" not in getattr(route, "path", "{")}  # type: ignore[attr-defined]
    return Guard(app, options=options, metrics=metrics, routes=routes)


NOT_IN_POOL = (
    "The run did not learn from this text, so it has no stored answers of the teachers. "
    "Start the server with `--teachers` to see their answers to any text."
)


def _json(value: Any) -> Response:
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False).encode(), media_type="application/json")


def _error(refused: Any) -> Response:
    return Response(refused.body, status_code=refused.status, headers=refused.headers)


def _no_answer(error: Exception) -> Refused:
    if isinstance(error, TooLong):
        return Refused(str(error), "Validation")
    if isinstance(error, AlloyError):
        return Refused(str(error), "Backend")
    return Refused(f"the student failed: {type(error).__name__}", "Backend")


def _invalid(error: Any) -> Refused:
    """422, with the first problem."""
    first = error.errors()[0]
    where = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "json_invalid":
        return Refused("expected JSON; got something else", "Validation", 422)
    if where[:1] == ["inputs"]:
        return Refused(f"expected {SHAPES}; got something else", "Validation", 422)
    return Refused(f"`{'.'.join(where) or 'body'}`: {first['msg']}", "Validation", 422)
