"""Whether values from Python are texts, and pairs of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.errors import AlloyError


def check_strings(texts: Any, name: str = "texts", *, none_allowed: bool = False) -> None:
    """AlloyError for anything but a sequence of strings: a list, a tuple, or a column of a table. A single string is not a sequence of strings here.

    A string need not be a usable text: `row_problem` says so of each."""
    if texts is None and none_allowed:
        return
    if isinstance(texts, (str, bytes)):
        raise AlloyError(
            expected=f"a list of {name}", got=f"one {type(texts).__name__}", hint='Put it into a list: ["a text"].'
        )
    if _has_columns(texts):
        raise AlloyError(
            expected=f"a list of {name}, or one column of a table",
            got=f"a {type(texts).__name__}",
            hint='Name the column: `data["text"]`.',
        )
    if not isinstance(texts, Sequence) and not hasattr(texts, "__getitem__"):
        raise AlloyError(expected=f"a list of {name}", got=f"a {type(texts).__name__}", hint='For instance ["a text"].')
    for i, text in enumerate(texts):
        if not isinstance(text, str) and not (none_allowed and text is None):
            raise AlloyError(
                expected=f"a string at each place of the {name}",
                got=f"a {type(text).__name__} at position {i}",
                hint="Leave out what is missing.",
            )


def _has_columns(values: Any) -> bool:
    """Whether this is a dictionary, or a table of datasets, pandas or polars. Read as a list, it would give its keys, columns or rows, and no texts."""
    return isinstance(values, Mapping) or any(hasattr(values, name) for name in ("columns", "column_names"))


def check_texts_and_pairs(texts: Any, pairs: Any) -> None:
    """AlloyError unless `texts` are strings and `pairs`, if given, has a string or None for each of them."""
    check_strings(texts, "texts")
    check_strings(pairs, "pairs", none_allowed=True)
    if pairs is not None and len(pairs) != len(texts):
        raise AlloyError(
            expected=f"a second text, or None, for each of {len(texts)} texts", got=f"{len(pairs)}", hint=""
        )
