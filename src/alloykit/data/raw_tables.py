"""Open an origin of texts as raw tables, before their rows are checked: hub data sets, lists, and the files of a folder."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.data.file_formats import FORMATS, format_of
from alloykit.data.json_lines import all_keys, select_columns
from alloykit.data.limits import cells_of
from alloykit.data.readers import RawTable, read_file
from alloykit.data.texts_options import HUB_ID, ColumnOptions, TextsOptions
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.names import nearest_name, quoted, short

DATASET = "the data set"  # one in memory, in messages
NAME = re.compile(r"[^\W_]|_\w", re.UNICODE)  # begins like the name of a column, and not like a comment


def rows_of(tables: Iterable[RawTable], columns: Mapping[str, str]) -> Iterator[tuple[RawTable, Sequence[Any]]]:
    """All rows, each with its table. columns: role → column. AlloyError for a table without one of the columns."""
    for table in tables:
        check_columns(table, columns)
        for row in table.rows:
            yield table, row


def check_columns(table: RawTable, columns: Mapping[str, str]) -> None:
    """AlloyError for a table without one of the columns. columns: role → column."""
    for role, name in columns.items():
        _check_column(table, role, name, set(columns.values()))


class MissingColumn(AlloyError):
    """A file has no column of this name. role: what it is for, such as "label". guess: the one that was probably meant, or ""."""

    role, column, guess = "", "", ""


def _check_column(table: RawTable, role: str, name: str, used: set[str]) -> None:
    if table.columns.count(name) == 1:
        return
    listed = quoted(table.columns) or "none"
    if name in table.columns:
        raise AlloyError(
            expected=f"one column '{name}'",
            got=f"columns {listed} in {table.where}",
            hint="Rename all but one of them.",
        )
    spare = [str(column) for column in table.columns if column not in used and NAME.match(str(column))]
    likely = nearest_name(name, spare)
    guess = short(likely or next(iter(spare), ""))
    option = f"--{role.replace('_', '-')} {shlex.quote(guess)}"
    hint = f"Set `{role}: {guess}` in the recipe, or `{option}` where a command reads none" if spare else ""
    if spare and table.where == DATASET:  # it is in memory: a recipe cannot name its columns
        hint = f"Rename the column: `data.rename_column('{guess}', '{short(name)}')`"
    hint += "" if not spare else "." if likely else ", if that is the column to read."
    if len(table.columns) == 1 and table.where.strip("'").removesuffix(".gz").endswith(("csv", "tsv")):
        hint += " If the first line is a text, put a header line before it, or use the ending .txt."
    if f'"{name}"' in table.columns:
        hint = "In the first line, delete the blank between separator and quote: quotes count only directly after a separator."
    if not table.columns and table.where.startswith("'"):
        hint = "It is empty. Name another file, or write texts into this one."
    error = MissingColumn(expected=f"a column '{name}'", got=f"columns {listed} in {table.where}", hint=hint.strip())
    error.role, error.column, error.guess = role, short(name), guess
    raise error


def raw_tables(origin: Any, options: ColumnOptions, wanted: list[str], skipped: list[str]) -> Iterator[RawTable]:
    """Open an origin, one table at a time. Names of files with another ending are added to `skipped`.

    origin: a path, a hub id, a list or a Dataset. wanted: the columns to read. AlloyError for anything else.
    """
    import datasets

    # A text with several labels may have them as a list. Other columns may not be nested.
    nested = [name for name in wanted if options.label_separator is not None and name == (options.label or "label")]
    if isinstance(origin, datasets.Dataset):
        yield _dataset_table(origin, wanted, DATASET, nested)
    elif isinstance(origin, Path):
        if not os.path.exists(origin):  # no OSError for a name that is too long, such as a text
            raise _missing_path(origin)
        if (saved := _saved(origin, options)) is not None:
            yield _dataset_table(_load_saved(saved), wanted, f"'{saved}'", nested)
            return
        for path in plain_files(origin, options, skipped):
            yield read_file(path, wanted, nested=nested)
    elif isinstance(origin, str) and isinstance(options, TextsOptions):
        yield _dataset_table(_from_hub(options), wanted, f"the data set '{origin}'", nested)
    elif isinstance(origin, Sequence) and not isinstance(origin, (bytes, bytearray)):
        yield _list_table(origin, wanted)
    else:
        splits = f" with splits {quoted(origin)}" if isinstance(origin, Mapping) else ""
        hint = "Choose one split, such as data['train']." if splits else ""
        if hasattr(origin, "columns"):
            hint = "Give one column, such as `data['text']`. For labels or pairs: `datasets.Dataset.from_pandas(data)`, or `from_polars(data)`."
        raise AlloyError(
            expected="a path, a hub id, a list of strings, pairs or dicts, one column of a table, or a datasets.Dataset",
            got=f"{type(origin).__name__}{splits}",
            hint=hint,
        )


def plain_files(origin: Any, options: ColumnOptions, skipped: list[str]) -> list[Path]:
    """The file, or the files of a folder; none for any other origin. Names of files with another ending are added to `skipped`. AlloyError for a folder
    without files of texts."""
    if not isinstance(origin, Path) or not os.path.exists(origin) or _saved(origin, options) is not None:
        return []
    return _text_files(origin, skipped) if origin.is_dir() else [origin]


def files_read(origin: Path, options: ColumnOptions) -> list[Path]:
    """All files that are read of a path: those of a folder that `save_to_disk` wrote too. AlloyError as from `plain_files`."""
    saved = _saved(origin, options)
    return plain_files(origin, options, []) if saved is None else sorted(p for p in saved.rglob("*") if p.is_file())


def _saved(origin: Path, options: ColumnOptions) -> Path | None:
    """The folder that Dataset.save_to_disk wrote, if it is one."""
    if isinstance(options, TextsOptions) and (origin / "dataset_dict.json").is_file():
        origin = origin / options.split
    return origin if (origin / "state.json").is_file() else None


def files_of(path: Path, skipped: list[str]) -> list[Path]:
    """The file, or the files of texts in a folder. Names of other files in the folder are added to `skipped`. AlloyError if there is none."""
    if not os.path.exists(path):
        raise _missing_path(path)
    return _text_files(path, skipped) if path.is_dir() else [path]


def warn_of_skipped(origin: Any, skipped: Sequence[str]) -> None:
    """AlloyWarning for the files of a folder that are not read."""
    if skipped:
        reason = f"Skipped in '{origin}', because they are not files of texts ({', '.join(FORMATS)}): "
        warnings.warn(reason + quoted(skipped), AlloyWarning, stacklevel=4)


def _from_hub(options: TextsOptions) -> Any:
    import datasets

    try:
        return datasets.load_dataset(options.dataset, options.config, split=options.split, revision=options.revision)
    except Exception as error:  # the network, the hub and its parsers raise dozens of unrelated types
        raise AlloyError(
            expected=f"the data set '{options.dataset}' (split '{options.split}') on the hub",
            got=f"{type(error).__name__}: {str(error).strip() or 'no details'}",
            hint="Check id, `config`, `split`, `revision` and the network. For your own files use `path`.",
        ) from error


def _load_saved(folder: Path) -> Any:
    import datasets

    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # damaged metadata can raise any exception
        raise AlloyError(
            expected=f"a data set that `save_to_disk` wrote, in '{folder}'",
            got=f"{type(error).__name__}: {str(error).strip()[:200] or 'no details'}",
            hint="Copy the whole folder again.",
        ) from error


def _dataset_table(data: Any, wanted: list[str], where: str, nested: Collection[str]) -> RawTable:
    def rows() -> Iterator[Sequence[Any]]:
        first = 0
        for batch in data.select_columns(wanted).with_format("arrow").iter(batch_size=1000):
            yield from zip(
                *(cells_of(batch[name], where, first, nested=name in nested) for name in wanted), strict=True
            )
            first += batch.num_rows

    names = {name: list(f.names) for name, f in data.features.items() if hasattr(f, "names")}
    return RawTable(where, list(data.column_names), rows(), names)


def _list_table(items: Sequence[Any], wanted: list[str]) -> RawTable:
    where, first = "the list", next((item for item in items if item is not None), None)
    if not isinstance(first, (Mapping, list, tuple)):
        return RawTable(where, ["text"], ((item,) for item in items))
    kind: Any = Mapping if isinstance(first, Mapping) else (list, tuple)
    for number, item in enumerate(items):
        if item is not None and (not isinstance(item, kind) or (kind is not Mapping and len(item) != 2)):
            expected = "only dicts in the list" if kind is Mapping else "only (text, pair) in the list"
            raise AlloyError(expected=expected, got=f"{type(item).__name__} at position {number}")
    if kind is not Mapping:
        pairs = (dict(zip(("text", "text_pair"), item or (None, None), strict=True)) for item in items)
        return RawTable(where, ["text", "text_pair"], select_columns(pairs, wanted))
    records = [item or {} for item in items]
    return RawTable(where, all_keys(records), select_columns(records, wanted))


def _text_files(folder: Path, skipped: list[str]) -> list[Path]:
    visible = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "_")))
    files = [path for path in visible if path.is_file() and format_of(path) in FORMATS]
    skipped.extend(path.name for path in visible if path not in files)
    if not files:
        got = f"none in '{folder}'" + (f", only {quoted(skipped)}" if skipped else "")
        raise AlloyError(expected=f"files that end in {', '.join(FORMATS)}", got=got)
    return files


def _may_hold_texts(path: Path) -> bool:
    """False for a folder without visible files, such as an output folder that was just made."""
    try:
        return not path.is_dir() or any(not p.name.startswith(".") for p in path.iterdir())
    except OSError:
        return True


def _missing_path(path: Path) -> AlloyError:
    parent = next((folder for folder in path.parents if os.path.isdir(folder)), path.parent)
    names = sorted(p.name for p in parent.iterdir() if _may_hold_texts(p)) if os.path.isdir(parent) else []
    likely = nearest_name(path.name, names)
    hint = f"Did you mean '{likely}'?" if likely else f"In '{parent}': {quoted(names) or 'no files'}."
    if HUB_ID.fullmatch(str(path)):
        hint += f" For a data set on the hub write `dataset: {path}`."
    return AlloyError(expected="an existing file or folder", got=f"nothing at '{path}'", hint=hint)
