"""The pages of the server: one to try the student, one that lists the routes. They load nothing from other servers."""

from __future__ import annotations

import functools
import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from alloykit.reporting.html_environment import html_environment
from alloykit.web.serve_options import ServeOptions


def try_page(name: str, *, pairs: bool, options: ServeOptions) -> str:
    """The page at /. name: of the model. pairs: whether to offer a field for a second text."""
    return _environment().get_template("try.html.j2").render(name=name, pairs=pairs, characters=options.characters)


def reference_page(name: str, schema: dict[str, Any]) -> str:
    """The page at /docs. schema: the OpenAPI description."""
    schemas = schema.get("components", {}).get("schemas", {})
    routes = [
        {
            "path": path,
            "verb": verb.upper(),
            "about": " ".join((about.get("description") or about["summary"]).split()),
            "body": _fields(about, schemas),
            "answers": {code: answer["description"] for code, answer in about["responses"].items()},
        }
        for path, verbs in schema["paths"].items()
        for verb, about in verbs.items()
    ]
    example = json.dumps({"inputs": [["I was charged twice"], ["Where is my parcel?"]]})
    return _environment().get_template("reference.html.j2").render(name=name, routes=routes, example=example)


@functools.cache
def asset(name: str) -> bytes:
    """A style sheet or script. The report and these pages share style.css."""
    package = "alloykit.reporting" if name == "style.css" else "alloykit.web"
    return files(package).joinpath(f"templates/{name}").read_bytes()


def _fields(about: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, str]]:
    """Name and default of each field of the body."""
    content = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = schemas.get(content.get("$ref", "").rsplit("/", 1)[-1], {})
    needed = fields.get("required", [])
    return [
        {
            "name": name,
            "about": field.get("description", ""),
            "default": "required" if name in needed else json.dumps(field.get("default")),
        }
        for name, field in fields.get("properties", {}).items()
    ]


@functools.cache
def _environment() -> Environment:
    made = html_environment("alloykit.web")
    made.globals["version"] = version("alloykit")
    return made
