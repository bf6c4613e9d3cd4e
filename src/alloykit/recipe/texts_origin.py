"""Where the texts of a recipe come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from alloykit.blocks import Block
from alloykit.data import TextsOptions

GENERATE = "generate"


class InMemory(Block):
    """Texts that came from Python and not from a file. It is found only in the recipe of a run folder."""

    in_memory: str
    """Fingerprint of the texts."""


NO_TEXTS = "give a path, or a block such as {path: texts.csv, text: COLUMN}"


def _kind_of_origin(value: Any) -> str | None:
    if isinstance(value, InMemory) or (isinstance(value, Mapping) and "in_memory" in value):
        return "in_memory"
    return "named" if isinstance(value, str | Path | Mapping | TextsOptions) else None


def _kind_of_texts(value: Any) -> str | None:
    return GENERATE if isinstance(value, str) and value == GENERATE else _kind_of_origin(value)


def _all_or_names(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return "names"
    return "all" if value in (True, False, "true", "false") else None


# A value's tag says which member of a union it is meant for, so that only the problems of this member are listed.
_Named = Annotated[TextsOptions, Tag("named")]
_InMemory = Annotated[InMemory, Tag("in_memory")]
TextsOrigin = Annotated[
    _Named | _InMemory,
    Discriminator(_kind_of_origin, custom_error_type="no_texts", custom_error_message=NO_TEXTS),
]
"""Texts in a file, in a folder, in a data set of the hub, or in Python's memory."""
TextsOriginOrGenerate = Annotated[
    _Named | _InMemory | Annotated[Literal["generate"], Tag(GENERATE)],
    Discriminator(_kind_of_texts, custom_error_type="no_texts", custom_error_message=NO_TEXTS),
]
AllOrNames = Annotated[
    Annotated[bool, Tag("all")] | Annotated[list[str], Tag("names")],
    Discriminator(
        _all_or_names, custom_error_type="no_names", custom_error_message="give true, false or a list of labels"
    ),
]
