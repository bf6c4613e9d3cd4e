"""The routes of the pages: / to try the student, /docs for the reference, and the files that both load."""

from __future__ import annotations

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from alloykit.web.pages import asset, reference_page, try_page
from alloykit.web.serve_options import ServeOptions

TYPES = {
    "style.css": "text/css; charset=utf-8",
    "try.css": "text/css; charset=utf-8",
    "try.js": "text/javascript; charset=utf-8",
}


def add_page_routes(app: FastAPI, name: str, options: ServeOptions, *, pairs: bool) -> None:
    """Add the pages. name: the model's name. pairs: whether to offer a field for a second text."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(try_page(name, pairs=pairs, options=options))

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
