"""Python sources as trees."""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def parsed(source: str | Path) -> ast.Module:
    """The tree of a source, or of the file of this name.

    CPython 3.11 counts the depth of a tree in one number for all threads (its issue 106905). Where a thread of another test's library
    parses at the same time, it says "recursion depth mismatch", and the next try succeeds. Read the tree, do not change it.
    """
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    with suppress(SystemError):
        return ast.parse(text)
    return ast.parse(text)
