"""benchmarks/DATA.md names every data set that a benchmark reads, with its columns and labels; its function writes what the harness reads."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.__main__ import TABLES
from benchmarks.defaults import choice, grid
from benchmarks.distill import size
from benchmarks.harness.data import FOREIGN, Files, read, write
from benchmarks.harness.data_set import DataSet
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.sets import SETS
from benchmarks.packaged_sets import MAKERS

PAGE = (Path(benchmarks.__path__[0]) / "DATA.md").read_text(encoding="utf-8")
ROWS = {
    row[0].strip("`"): row
    for line in PAGE.splitlines()
    if len(row := [part.strip() for part in line.strip("|").split("|")]) == 6 and row[0].startswith("`")
}


def read_by_benchmarks() -> dict[str, list[str]]:
    """Columns of every data set."""
    of_studies = {s.name: s.pairs for s in (*choice.SETS, *grid.SETS)}
    own_files = {s.name: s.pairs for s in SETS.values() if not s.folder}
    labelled = own_files | of_studies | {size.DATA: SETS[size.DATA].pairs}
    with_sources = {s.folder: ["text", "source"] for s in SETS.values() if s.folder}
    plans = [import_module(f"benchmarks.encoders.{name}").PLAN for name in TABLES["encoders"]]
    found = {name: ["text"] for name in (FOREIGN, *(name for plan in plans for name in plan.texts))}
    found |= {name: ["text", *(["text_pair"] if pairs else []), "label"] for name, pairs in labelled.items()}
    return found | with_sources


def test_every_data_set_is_on_the_page_with_its_columns() -> None:
    assert {name: re.findall(r"`(\w+)`", row[2]) for name, row in ROWS.items()} == read_by_benchmarks()


def test_the_sets_out_of_packages_are_the_last_ones() -> None:
    """The page names the first and the last one."""
    [(first, last)] = re.findall(r"`python -m benchmarks.packaged_sets data` makes .* from `(\w+)` to `(\w+)`\.", PAGE)
    names = list(ROWS)
    assert last == names[-1]
    assert set(names[names.index(first) :]) == set(MAKERS)


def test_labels_stand_in_their_order() -> None:
    lines = " ".join(PAGE.partition("## The labels")[2].partition("\n## ")[0].split()).split("- `")
    told = {name: labels.strip() for name, _, labels in (line.partition("`: ") for line in lines)}
    assert {name: told.get(name) for name in SETS} == {name: ", ".join(s.labels) for name, s in SETS.items()}


@pytest.mark.parametrize("pairs", [False, True])
def test_its_function_writes_what_the_harness_reads(pairs: bool, tmp_path: Path) -> None:
    [snippet] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def put(" in code]
    names: dict[str, Any] = {}
    exec(snippet, names)
    texts, labels = [f"text {i}" for i in range(20)], [i % 2 for i in range(20)]
    for part in ("train", "validation", "test"):
        names["put"](tmp_path / "data", "toy", part, texts, labels, texts[::-1] if pairs else None)
    files = Files(
        tmp_path / "data",
        tmp_path / "work",
        DataSet("toy", "Toy", ("a", "b"), pairs=pairs),
        replace(SMALL, texts=8, validation=4),
        0,
    )
    table = read(files.teachers("shared"))
    assert table.column_names == ["text", *(["text_pair"] if pairs else []), "label"]
    assert {(row["text"], row["label"]) for row in table} <= {(t, "ab"[y]) for t, y in zip(texts, labels, strict=True)}
    assert len(read(files.test())) == 20
    assert len(read(files.validation())) > 0


def test_a_set_of_sources_has_the_labels_of_its_kept_sources(tmp_path: Path) -> None:
    dataset = DataSet("kinds", "Kinds", ("a", "b"), folder="all", sources={"one": "a", "two": "a", "three": "b"})
    sources = ["one", "left out", "three", "two"] * 5
    for part in ("train", "validation", "test"):
        write({"text": [f"text {i}" for i in range(20)], "source": list(sources)}, tmp_path / "all" / f"{part}.parquet")
    files = Files(tmp_path, tmp_path / "work", dataset, replace(SMALL, texts=6, validation=4), 0)
    parts = {"teachers": (files.teachers("shared"), 6), "pool": (files.pool("disjoint"), 6), "test": (files.test(), 15)}
    for part, (path, rows) in (parts | {"validation": (files.validation(), 4)}).items():
        table = read(path)
        assert len(table) == rows, part
        for row in table:
            assert dataset.sources[sources[int(row["text"].removeprefix("text "))]] == row["label"], part
