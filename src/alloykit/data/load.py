"""The door: whatever names or holds texts goes in, one table comes out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from alloykit.data.parts import parts_of, rows_of
from alloykit.data.readers import FORMATS
from alloykit.data.table import Collector, Texts
from alloykit.data.texts_options import ColumnOptions, TextsOptions
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.names import quoted

if TYPE_CHECKING:  # a second to import, and the command line imports this module for its help
    import datasets


def load_texts(
    source: str | Path | Sequence[Any] | datasets.Dataset | TextsOptions,
    *,
    want_labels: bool = False,
    **options: Any,
) -> Texts:
    """Read texts into one table.

    source: a csv, tsv, jsonl, txt (one text per line; all these also gzipped) or parquet file; a folder of
        them, read in the order of their names; a hub id "owner/name"; a list of strings, of (text, pair) or
        of dicts; a `datasets.Dataset`; or TextsOptions.
    want_labels: labels are needed; their column is "label" unless `label` names another. Without it labels
        are read only if `label` is given.
    options: fields of TextsOptions. They override those of `source`.

    Warns (AlloyWarning) about dropped rows and skipped files. Raises AlloyError for everything that the user
    has to mend: a missing file or column, text that is not UTF-8, labels without names, no usable row at all.
    """
    try:
        chosen, given = _choose(source, options)
    except ValidationError as error:
        raise _explained(error) from error
    label = chosen.label or ("label" if want_labels else None)
    roles = {"text": chosen.text, "text_pair": chosen.text_pair, "label": label}
    columns = {role: name for role, name in roles.items() if name is not None}
    collected, wanted = Collector(chosen, columns), list(columns.values())
    skipped: list[str] = []
    for part, row in islice(rows_of(parts_of(given, chosen, wanted, skipped), columns), chosen.limit):
        collected.add(part, row)
    texts = collected.texts()
    if skipped:
        note = f"Skipped in '{given}', since they are no files of texts ({', '.join(FORMATS)}): "
        warnings.warn(note + quoted(skipped), AlloyWarning, stacklevel=2)
    if texts.dropped:
        warnings.warn(f"Dropped {collected.problems()}.", AlloyWarning, stacklevel=2)
    return texts


def columns_of(source: TextsOptions) -> list[str]:
    """The columns of texts: of the first file where there are several, and of a JSON file those of its first records. AlloyError."""
    chosen, given = _choose(source, {})
    return next(parts_of(given, chosen, [chosen.text], [])).columns


def texts_options(source: str | Path, **options: Any) -> TextsOptions:
    """`TextsOptions.from_string`, with AlloyError for what cannot be."""
    try:
        return TextsOptions.from_string(source, **options)
    except ValidationError as error:
        raise _explained(error) from error


def _choose(source: Any, overrides: dict[str, Any]) -> tuple[ColumnOptions, Any]:
    """The options to read with, and the path, hub id, list or Dataset to read."""
    if isinstance(source, TextsOptions):
        chosen = TextsOptions.model_validate({**source.model_dump(), **overrides})
    elif isinstance(source, (str, Path)):
        chosen = TextsOptions.from_string(source, **overrides)
    else:
        columns = ColumnOptions.model_validate(overrides)
        is_list = isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray))
        if is_list and isinstance(next((x for x in source if x is not None), None), (list, tuple)):
            columns = columns.model_copy(update={"text_pair": columns.text_pair or "text_pair"})
        return columns, source
    # os.path: an unknown "~name" stays as it is, and is then reported as missing.
    return chosen, Path(os.path.expanduser(chosen.path)) if chosen.path is not None else chosen.dataset


def _explained(error: ValidationError) -> AlloyError:
    problems = error.errors()
    causes = [problem.get("ctx", {}).get("error") for problem in problems]
    if len(causes) == 1 and isinstance(causes[0], AlloyError):
        return AlloyError(expected=causes[0].expected, got=causes[0].got, hint=causes[0].hint)
    told = [
        f"`{'.'.join(map(str, problem['loc']))}`: {cause or problem['msg'].lower()}"
        for problem, cause in zip(problems, causes, strict=True)
    ]
    return AlloyError(expected=f"options among {', '.join(TextsOptions.model_fields)}", got="; ".join(told))
