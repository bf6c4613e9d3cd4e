"""Turn errors into answers, and describe them for the page at /docs."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from alloykit.web.predict_request import SHAPES
from alloykit.web.refused import Refused


class ErrorBody(BaseModel):
    """What went wrong."""

    error: str
    error_type: str


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "An empty text"},
    408: {"model": ErrorBody, "description": "The body did not arrive in time"},
    413: {"model": ErrorBody, "description": "Too many texts, or a text that is too long"},
    422: {"model": ErrorBody, "description": "The body is not JSON of this form, or a text has a NUL character"},
    424: {"model": ErrorBody, "description": "The student could not answer"},
    503: {"model": ErrorBody, "description": "Too many requests, or the server is stopping. Try again."},
}
"""The errors of a route that classifies, by status."""
NO_JSON = Refused("expected JSON; got something else", "Validation", 422)


def answer_errors(app: FastAPI) -> None:
    """Answer every error with a body of one form, `ErrorBody`."""
    app.add_exception_handler(Refused, lambda _, e: _error(e))
    app.add_exception_handler(RequestValidationError, lambda _, e: _error(_invalid(e)))
    app.add_exception_handler(HTTPException, lambda _, e: _error(_by_status(e)))
    app.add_exception_handler(Exception, lambda _, e: _error(Refused("the server failed", "Backend", 500)))


def _error(refused: Any) -> Response:
    return Response(refused.body, status_code=refused.status, headers=refused.headers)


def _by_status(error: Any) -> Refused:
    """For an unknown path, for a method that a path does not have (the header Allow names those that it has), and for a body that cannot be decoded."""
    # fastapi answers 400 to a body that is not UTF-8, or is too deep or too long for Python's JSON.
    if error.status_code == 400:
        return NO_JSON
    return Refused(str(error.detail), "Validation", error.status_code, error.headers)


def _invalid(error: Any) -> Refused:
    """422, with the first problem."""
    first = error.errors()[0]
    where = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "json_invalid":
        return NO_JSON
    if where[:1] == ["inputs"]:
        return Refused(f"expected {SHAPES}; got something else", "Validation", 422)
    return Refused(f"`{'.'.join(where) or 'body'}`: {first['msg']}", "Validation", 422)
