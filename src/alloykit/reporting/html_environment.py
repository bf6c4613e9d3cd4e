"""The environment of the HTML templates of a package."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from alloykit.escape import visible


def html_environment(package: str) -> Environment:
    """The templates of a package: everything is escaped, invisible characters are written out, an unknown name is an error."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value, lines=True) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
