"""`load_texts`: read texts from any origin into one table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from alloykit.data.raw_tables import plain_files, raw_tables, rows_of, warn_of_skipped
from alloykit.data.read_in_pieces import read_in_pieces
from alloykit.data.table import RowCollector, Texts, joined_texts
from alloykit.data.texts_options import ColumnOptions, TextsOptions, TextsPlace
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.paths import user_path

if TYPE_CHECKING:  # it takes a second to import, and the command line imports this module for its help
    import datasets


def load_texts(
    origin: str | Path | Sequence[Any] | datasets.Dataset | TextsOptions,
    *,
    want_labels: bool = False,
    **options: Any,
) -> Texts:
    """Read texts into one table.

    origin: a csv, tsv, json, jsonl, ndjson, txt (one text per line; all these also gzipped) or parquet file; a folder
        of them, read in the order of their names; a hub id "owner/name"; a list of strings, of (text, pair) or
        of dicts; one column of a table of pandas or polars; a `datasets.Dataset`; or TextsOptions.
    want_labels: labels are needed; their column is "label" unless `label` names another. Without it labels
        are read only if `label` is given.
    options: fields of TextsOptions. They override those of `origin`.

    Warns (AlloyWarning) about dropped rows and skipped files. Raises AlloyError for everything that the user
    must fix: a missing file or column, text that is not UTF-8, labels without names, no usable row, wrong options.
    """
    try:
        settings, location = _settings_and_location(origin, options)
    except ValidationError as error:
        raise _options_error(error) from error
    if isinstance(settings, TextsOptions) and settings.more:
        places = [settings.model_copy(update={"more": None}), *settings.more]
        return joined_texts([_load(place, _location(place), want_labels) for place in places])
    return _load(settings, location, want_labels)


def _load(settings: ColumnOptions, location: Any, want_labels: bool) -> Texts:
    """The texts of one place."""
    label = settings.label or ("label" if want_labels else None)
    roles = {"text": settings.text, "text_pair": settings.text_pair, "label": label}
    columns = {role: name for role, name in roles.items() if name is not None}
    skipped: list[str] = []
    collector: RowCollector | None = read_in_pieces(plain_files(location, settings, skipped), settings, columns)
    if collector is None:
        collector, wanted = RowCollector(settings, columns), list(columns.values())
        skipped = []
        for table, row in islice(rows_of(raw_tables(location, settings, wanted, skipped), columns), settings.limit):
            collector.add(table, row)
    texts = collector.texts(f"'{location}'" if isinstance(location, (str, Path)) else "")
    warn_of_skipped(location, skipped)
    if texts.dropped:
        warnings.warn(f"Unusable: {collector.problems()}.", AlloyWarning, stacklevel=3)
    return texts


def columns_of(origin: TextsOptions) -> list[str]:
    """The column names of the first file. Of a JSON file only the first records are read. AlloyError."""
    settings, location = _settings_and_location(origin, {})
    return next(raw_tables(location, settings, [settings.text], [])).columns


def texts_options(origin: str | Path, **options: Any) -> TextsOptions:
    """`TextsOptions.from_string`, but AlloyError for invalid options."""
    try:
        return TextsOptions.from_string(origin, **options)
    except ValidationError as error:
        raise _options_error(error) from error


def _settings_and_location(origin: Any, overrides: dict[str, Any]) -> tuple[ColumnOptions, Any]:
    """The options to read with, and the path, hub id, list or Dataset to read."""
    if isinstance(origin, TextsOptions):
        settings = TextsOptions.model_validate({**origin.model_dump(), **overrides})
    elif isinstance(origin, (str, Path)):
        settings = TextsOptions.from_string(origin, **overrides)
    else:
        columns = ColumnOptions.model_validate(overrides)
        if hasattr(origin, "__array__") and not hasattr(origin, "columns"):  # a column of pandas or polars, or an array
            origin = np.asarray(origin, dtype=object).tolist()
        is_list = isinstance(origin, Sequence) and not isinstance(origin, (bytes, bytearray))
        if is_list and isinstance(next((x for x in origin if x is not None), None), (list, tuple)):
            columns = columns.model_copy(update={"text_pair": columns.text_pair or "text_pair"})
        return columns, origin
    return settings, _location(settings)


def _location(place: TextsPlace) -> Path | str | None:
    """Its path or hub id."""
    return user_path(place.path) if place.path is not None else place.dataset


def _options_error(error: ValidationError) -> AlloyError:
    """The error for invalid options, in the user's terms."""
    problems = error.errors()
    causes = [problem.get("ctx", {}).get("error") for problem in problems]
    if len(causes) == 1 and isinstance(causes[0], AlloyError):
        return AlloyError(expected=causes[0].expected, got=causes[0].got, hint=causes[0].hint)
    messages = [
        f"`{'.'.join(map(str, problem['loc']))}`: {cause or problem['msg'].lower()}"
        for problem, cause in zip(problems, causes, strict=True)
    ]
    return AlloyError(expected=f"options among {', '.join(TextsOptions.model_fields)}", got="; ".join(messages))
