"""What was given becomes parts with rows: hub data sets, lists, and the files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.data.limits import cells_of
from alloykit.data.readers import FORMATS, Part, file_part, format_of, keys_of, pick
from alloykit.data.texts_options import HUB_ID, ColumnOptions, TextsOptions
from alloykit.errors import AlloyError
from alloykit.names import near, quoted, short


def rows_of(parts: Iterable[Part], columns: Mapping[str, str]) -> Iterator[tuple[Part, Sequence[Any]]]:
    for part in parts:
        for role, name in columns.items():
            _require(part, role, name, set(columns.values()))
        for row in part.rows:
            yield part, row


def _require(part: Part, role: str, name: str, used: set[str]) -> None:
    if part.columns.count(name) == 1:
        return
    shown = quoted(part.columns) or "none"
    if name in part.columns:
        raise AlloyError(expected=f"one column '{name}'", got=f"columns {shown} in {part.where}")
    spare = [str(column) for column in part.columns if column not in used]
    likely = near(name, spare)
    guess = short(likely or next(iter(spare), ""))
    hint = f"Set `{role}: {guess}`" + ("." if likely else " if that is the column to read.") if spare else ""
    if len(part.columns) == 1 and part.where.strip("'").removesuffix(".gz").endswith(("csv", "tsv")):
        hint += " If the first line is a text, put a header line before it, or use the ending .txt."
    raise AlloyError(expected=f"a column '{name}'", got=f"columns {shown} in {part.where}", hint=hint)


def parts_of(given: Any, options: ColumnOptions, wanted: list[str], skipped: list[str]) -> Iterator[Part]:
    """Open what was given, one part at a time; names of files that are passed over are added to `skipped`."""
    import datasets

    if isinstance(given, datasets.Dataset):
        yield _dataset_part(given, wanted, "the data set")
    elif isinstance(given, Path):
        if not os.path.exists(given):  # no OSError for a name that is too long, such as a text
            raise _missing(given)
        if isinstance(options, TextsOptions) and (given / "dataset_dict.json").is_file():
            given = given / options.split
        if (given / "state.json").is_file():  # written by Dataset.save_to_disk
            yield _dataset_part(_saved(given), wanted, f"'{given}'")
            return
        for path in _files(given, skipped) if given.is_dir() else [given]:
            yield file_part(path, wanted)
    elif isinstance(given, str) and isinstance(options, TextsOptions):
        yield _dataset_part(_from_hub(options), wanted, f"the data set '{given}'")
    elif isinstance(given, Sequence) and not isinstance(given, (bytes, bytearray)):
        yield _list_part(given, wanted)
    else:
        splits = f" with splits {quoted(given)}" if isinstance(given, Mapping) else ""
        raise AlloyError(
            expected="a path, a hub id, a list of strings, pairs or dicts, or a datasets.Dataset",
            got=f"{type(given).__name__}{splits}",
            hint="Choose one split, such as data['train']." if splits else "",
        )


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


def _saved(folder: Path) -> Any:
    import datasets

    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # damaged metadata raises whatever its first reader raises
        raise AlloyError(
            expected=f"a data set that `save_to_disk` wrote, in '{folder}'",
            got=f"{type(error).__name__}: {str(error).strip()[:200] or 'no details'}",
            hint="Copy the whole folder again.",
        ) from error


def _dataset_part(data: Any, wanted: list[str], where: str) -> Part:
    def rows() -> Iterator[Sequence[Any]]:
        first = 0
        for batch in data.select_columns(wanted).with_format("arrow").iter(batch_size=1000):
            yield from zip(*(cells_of(batch[name], where, first) for name in wanted), strict=True)
            first += batch.num_rows

    names = {name: list(f.names) for name, f in data.features.items() if hasattr(f, "names")}
    return Part(where, list(data.column_names), rows(), names)


def _list_part(items: Sequence[Any], wanted: list[str]) -> Part:
    where, first = "the list", next((item for item in items if item is not None), None)
    if not isinstance(first, (Mapping, list, tuple)):
        return Part(where, ["text"], ((item,) for item in items))
    kind: Any = Mapping if isinstance(first, Mapping) else (list, tuple)
    for number, item in enumerate(items):
        if item is not None and (not isinstance(item, kind) or (kind is not Mapping and len(item) != 2)):
            expected = "only dicts in the list" if kind is Mapping else "only (text, pair) in the list"
            raise AlloyError(expected=expected, got=f"{type(item).__name__} at position {number}")
    if kind is not Mapping:
        pairs = (dict(zip(("text", "text_pair"), item or (None, None), strict=True)) for item in items)
        return Part(where, ["text", "text_pair"], pick(pairs, wanted))
    records = [item or {} for item in items]
    return Part(where, keys_of(records), pick(records, wanted))


def _files(folder: Path, skipped: list[str]) -> list[Path]:
    visible = sorted(p for p in folder.iterdir() if not p.name.startswith((".", "_")))
    files = [path for path in visible if path.is_file() and format_of(path) in FORMATS]
    skipped.extend(path.name for path in visible if path not in files)
    if not files:
        got = f"none in '{folder}'" + (f", only {quoted(skipped)}" if skipped else "")
        raise AlloyError(expected=f"files that end in {', '.join(FORMATS)}", got=got)
    return files


def _holds_something(path: Path) -> bool:
    """False for a folder without visible files, such as an output that was just made: no texts can be there."""
    try:
        return not path.is_dir() or any(not p.name.startswith(".") for p in path.iterdir())
    except OSError:
        return True


def _missing(path: Path) -> AlloyError:
    parent = next((folder for folder in path.parents if os.path.isdir(folder)), path.parent)
    there = sorted(p.name for p in parent.iterdir() if _holds_something(p)) if os.path.isdir(parent) else []
    likely = near(path.name, there)
    hint = f"Did you mean '{likely}'?" if likely else f"In '{parent}': {quoted(there) or 'no files'}."
    if HUB_ID.fullmatch(str(path)):
        hint += f" For a data set on the hub write `dataset: {path}`."
    return AlloyError(expected="an existing file or folder", got=f"nothing at '{path}'", hint=hint)
