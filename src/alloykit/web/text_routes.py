"""The routes that read texts: /predict and /explain."""

from __future__ import annotations

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from alloykit.serving.classifier import Classifier
from alloykit.serving.classify import Asked
from alloykit.web.answer_queue import AnswerQueue
from alloykit.web.error_answers import ERRORS
from alloykit.web.explanations import Explanations
from alloykit.web.predict_request import PredictRequest, ServedText, check_text
from alloykit.web.serve_options import ServeOptions
from alloykit.web.views import explanation_view, scores_view


class ScoredLabels(BaseModel):
    """A label and its score."""

    score: float
    label: str


class ExplainRequest(BaseModel):
    """One text, and its second text if the student reads pairs."""

    text: ServedText
    pair: ServedText | None = None


def add_text_routes(
    app: FastAPI,
    queue: AnswerQueue,
    classifier: Classifier,
    options: ServeOptions,
    explanations: Explanations | None,
    why_no_teachers: str,
) -> None:
    """Add /predict, and /explain for the page. why_no_teachers: the reason, if there are no explanations."""

    @app.post("/predict", responses={200: {"model": list[ScoredLabels] | list[list[ScoredLabels]]}, **ERRORS})
    async def predict(request: PredictRequest) -> Response:
        """The probability of every label, the highest first. One text: a list. A batch: a list of lists. A student of several questions gives the
        labels of all of them, such as `topic: sports`; the probabilities of a question sum to one. Those of a multi-label student do not."""
        found = await queue.answers(request.asked(options))
        lists = [scores_view(classifier.labels, answer.scores) for answer in found]
        return JSONResponse(lists if request.is_batch else lists[0])

    @app.post("/explain", responses=ERRORS)
    async def explain(request: ExplainRequest) -> Response:
        """What the page at / shows of one text: the student's answer, each teacher's, and the target that the method formed."""
        check_text(request.text, request.pair, options)
        (answer,) = await queue.answers([Asked(request.text, request.pair)])
        if explanations is None:
            return JSONResponse(explanation_view(classifier.parts, answer, None, "", why_no_teachers))
        explained, why = await explanations.of(request.text, request.pair)
        return JSONResponse(explanation_view(classifier.parts, answer, explained, explanations.method, why))
