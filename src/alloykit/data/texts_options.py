"""The recipe's options for texts: where they are and how to read them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from alloykit.blocks import Block, PathText
from alloykit.data.file_formats import FORMATS, format_of
from alloykit.errors import AlloyError
from alloykit.names import quoted

INHERITED = (
    "text",
    "text_pair",
    "label",
    "label_names",
    "label_separator",
    "bad_rows",
    "limit",
    "salt_env",
)  # by the places in `more`
HUB_ID = re.compile(r"\w[\w.-]*/[\w.-]+")


DEFAULT_COLUMNS = {"text": "text", "text_pair": None, "label": "label"}
"""The columns that commands read if their options do not name others."""


class OptionError(AlloyError, ValueError):
    """An AlloyError that is also a ValueError, so that pydantic collects it with other problems."""


class ColumnOptions(Block):
    """How to read a table of texts, wherever it comes from."""

    text: str = "text"
    """The column of the text."""
    text_pair: str | None = None
    """The column of the second text, where a classifier reads pairs."""
    label: str | None = None
    """The column of the true label: text, or a whole number with `label_names`."""
    label_names: list[str] | None = None
    """Names for labels that are whole numbers, in order."""
    label_separator: str | None = Field(None, min_length=1, max_length=10)
    """Set it for multi-label texts: what stands between the labels of a text in a cell, such as "|". A cell may also be a list. An empty cell is a text
    that no label fits."""
    bad_rows: Literal["drop", "refuse"] = "drop"
    """What happens to rows without a usable text: drop them and count them, or refuse the file."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Read only so many rows of this place. Each place in `more` has the same limit, unless it names another."""
    salt_env: str | None = None
    """The environment variable whose value salts the hashes of the texts in the cache."""

    @field_validator("label_names")
    @classmethod
    def _names_differ(cls, names: list[str] | None) -> list[str] | None:
        if names is not None and (not names or len({n.strip() for n in names} - {""}) < len(names)):
            raise OptionError(expected="different, non-empty label_names", got=quoted(names) or "an empty list")
        return names

    @model_validator(mode="after")
    def _columns_differ(self) -> Self:
        columns = [c for c in (self.text, self.text_pair, self.label) if c is not None]
        if len(set(columns)) < len(columns):
            raise OptionError(expected="different columns for text, text_pair and label", got=quoted(columns))
        return self


class TextsPlace(ColumnOptions):
    """One place of texts: exactly one of `path` and `dataset` (a hub id)."""

    path: PathText | None = None
    """A file (csv, tsv, txt, or JSON lines in jsonl, ndjson or json, all also .gz; or parquet), a folder of such files, or a folder that `save_to_disk` wrote."""
    dataset: str | None = None
    """The id of a data set on the hub, instead of `path`."""
    config: str | None = None
    """The hub data set's configuration, where it has several."""
    split: str = "train"
    """The hub data set's split."""
    revision: str | None = None
    """The hub data set's commit, tag or branch."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return _place_of(value) if isinstance(value, (str, Path)) else value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.dataset is None):
            got = "neither" if self.path is None else f"both ('{self.path}' and '{self.dataset}')"
            raise OptionError(expected="either `path` (file or folder) or `dataset` (hub id)", got=got)
        return self

    @classmethod
    def from_string(cls, origin: str | Path, **options: Any) -> Self:
        """The options for texts that are named by one string, in a recipe or in Python.

        "owner/name" is a hub id if neither this path nor a folder "owner" exists. Everything else is a path: every
        `Path`, and every string that begins with "." or "~" or ends like a file of texts. No network is used.
        """
        return cls.model_validate(_place_of(origin) | options)


class TextsOptions(TextsPlace):
    """The recipe's `texts:` or `evaluate.data:` block: a place of texts, and further places."""

    more: list[TextsPlace] | None = None
    """Further files, folders or data sets whose texts follow. They have the columns and the `limit` of this block, unless they name others."""

    @property
    def paths(self) -> list[str]:
        """The paths of all places that have one."""
        return [place.path for place in (self, *(self.more or ())) if place.path is not None]

    @model_validator(mode="before")
    @classmethod
    def _more_with_columns(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not isinstance(value.get("more"), (list, tuple)):
            return value
        columns = {key: value[key] for key in INHERITED if key in value}
        more = [_place_of(place) if isinstance(place, (str, Path)) else place for place in value["more"]]
        return {**value, "more": [{**columns, **place} if isinstance(place, Mapping) else place for place in more]}


def columns_beside(origin: Any, **columns: str | None) -> dict[str, Any]:
    """The columns with which a command reads `origin`; none where it names its columns itself: a block of a recipe, or None, which stands for a
    recipe's own block. AlloyError for a column that would be ignored there."""
    if origin is None:
        refuse_columns("without texts: the recipe names the columns of its own", "Name the texts, too.", **columns)
        return {}
    if isinstance(origin, TextsOptions):
        refuse_columns("beside a block of texts", "Name the column in the block.", **columns)
        return {}
    return columns


def refuse_columns(why: str, hint: str, **columns: str | None) -> None:
    """AlloyError for a column that differs from the default where nothing would read it."""
    for name, value in columns.items():
        if value != DEFAULT_COLUMNS[name]:
            raise AlloyError(expected=f"no column as `{name}` {why}", got=f"'{value}'", hint=hint)


def _place_of(origin: str | Path) -> dict[str, str]:
    return {"dataset" if isinstance(origin, str) and _is_hub_id(origin) else "path": str(origin)}


def _is_hub_id(origin: str) -> bool:
    # If a local folder "owner" exists, a missing "owner/name" is a spelling mistake: do not ask the hub.
    path = Path(origin)
    has_form = HUB_ID.fullmatch(origin) is not None and format_of(path) not in FORMATS
    return has_form and not os.path.exists(path) and not os.path.isdir(path.parent)
