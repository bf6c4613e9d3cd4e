"""The application of the server: its routes, and the guard around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from alloykit.escape import visible
from alloykit.finished_runs.explain_text import TextExplainer
from alloykit.serving.classifier import Classifier
from alloykit.web.answer_queue import AnswerQueue
from alloykit.web.error_answers import answer_errors
from alloykit.web.explanations import Explanations
from alloykit.web.guard import Guard
from alloykit.web.page_routes import add_page_routes
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics
from alloykit.web.status_routes import add_status_routes
from alloykit.web.text_routes import add_text_routes


def server_app(
    classifier: Classifier,
    options: ServeOptions,
    *,
    name: str,
    explainer: TextExplainer | None,
    why_no_teachers: str,
    begin: Callable[[], None] = lambda: None,
) -> Guard:
    """The ASGI application. name: the model's name on its pages. explainer: gives the teachers' answers for the page; without one the page
    shows `why_no_teachers`. begin: called first in each thread that computes."""
    name = visible(name)  # the name of a folder need not be UTF-8
    metrics = ServerMetrics()
    queue = AnswerQueue(classifier, options, metrics, begin)
    explanations = Explanations(explainer, begin) if explainer else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        queue.close()
        if explanations:
            explanations.close()

    app = FastAPI(
        title=f"alloykit: {name}", version=version("alloykit"), docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Classifies texts. /predict is compatible with text-embeddings-inference.",
    )  # fmt: skip
    answer_errors(app)
    add_text_routes(app, queue, classifier, options, explanations, why_no_teachers)
    add_status_routes(app, queue, classifier, options, metrics, name)
    add_page_routes(app, name, options, pairs=explainer is None or explainer.is_pair)
    return Guard(app, options=options, metrics=metrics, routes=_routes_without_names(app))


def _routes_without_names(app: FastAPI) -> set[str]:
    """The paths that are counted separately: all but those with a part that a request chooses."""
    return {route.path for route in app.routes if "{" not in getattr(route, "path", "{")}  # type: ignore[attr-defined]
