"""Docstrings are plain text: indented lines stay as they are, and `names` are code."""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def as_rst(lines: list[str]) -> list[str]:
    """A plain docstring as reStructuredText: an indented stretch becomes a literal block."""
    found: list[str] = []
    literal = False
    for line in lines:
        indented = line.startswith("  ") or line.lstrip().startswith((">>>", "{"))
        if line.strip() and indented != literal:
            found += ["", "::", ""] if indented else [""]
            literal = indented
        if literal:
            found.append(f"   {line}" if line.strip() else "")
        else:
            found.append(CODE.sub(r"``\1``", line.replace("*", r"\*").replace("|", r"\|")))
    return found


def change(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
