"""The routes that programs ask about the server itself: /health, /info and /metrics."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from alloykit.serving.classifier import Classifier
from alloykit.web.answer_queue import AnswerQueue
from alloykit.web.error_answers import ERRORS
from alloykit.web.refused import Refused
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics


def add_status_routes(
    app: FastAPI, queue: AnswerQueue, classifier: Classifier, options: ServeOptions, metrics: ServerMetrics, name: str
) -> None:
    """Add /health, /info and /metrics. name: the model's name."""

    @app.get("/health", responses={503: ERRORS[503]})
    async def health() -> Response:
        """200 if the server can answer."""
        if not queue.alive:
            raise Refused("unhealthy", "Unhealthy")
        return Response(status_code=200)

    @app.get("/info")
    async def info() -> Response:
        """The model and the limits of this server."""
        id2label = {str(i): label for i, label in enumerate(classifier.labels)}
        label2id = {label: i for i, label in enumerate(classifier.labels)}
        return JSONResponse(
            {
                "model_id": name,
                "model_type": {"classifier": {"id2label": id2label, "label2id": label2id}},
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
