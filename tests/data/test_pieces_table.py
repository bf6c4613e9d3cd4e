"""Texts that are not copied are read from their files. They are those of a copy."""

from __future__ import annotations

import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alloykit.data import TextsOptions, cursors, disk, load_texts, piece_collector, pieces, read_in_pieces
from alloykit.data.pieces_table import PiecesTable
from alloykit.data.table import Texts
from alloykit.errors import AlloyError, AlloyWarning

ROWS = 130


def loaded(block: TextsOptions) -> Texts:
    with pytest.warns(AlloyWarning, match="Unusable"):
        return load_texts(block)


@pytest.fixture(params=[".parquet", ".csv", ".jsonl", ".txt"])
def block(request: pytest.FixtureRequest, tmp_path: Path) -> TextsOptions:
    """Two files with pairs and labels, some rows of which are unusable."""
    for n in range(2):
        rows = [
            {
                "text": " " if i % 17 == 3 else f"text {i % 31} é",
                "second": f'pair\n"{i}"',
                "label": i % 2 if request.param == ".parquet" else str(i % 2),
            }
            for i in range(n * ROWS, (n + 1) * ROWS)
        ]
        path = tmp_path / f"{n}{request.param}"
        if request.param == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
        elif request.param == ".csv":
            cells = [[str(v).replace('"', '""') for v in row.values()] for row in rows]
            path.write_text("text,second,label\n" + "".join('"' + '","'.join(row) + '"\n' for row in cells))
        elif request.param == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text("".join(f"{row['text']}\n" for row in rows))
    columns = {"text_pair": "second", "label": "label", "label_names": ["no", "yes"]}
    return TextsOptions.model_validate({"path": str(tmp_path)} | ({} if request.param == ".txt" else columns))


@pytest.fixture
def in_place(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads in one process, and copies at most so many bytes."""

    def read(block: TextsOptions, copied: int = 0) -> Texts:
        with monkeypatch.context() as patch:
            patch.setattr(piece_collector, "COPIED", copied)
            patch.setattr(read_in_pieces, "FROM", 0)
            patch.setattr(read_in_pieces, "MAX_PROCESSES", 1)
            patch.setattr(pieces, "ROWS", 10)
            patch.setattr(pieces, "BYTES", 400)
            return loaded(block)

    monkeypatch.setattr(cursors, "CHUNK", 3)
    return read


def test_they_are_those_of_a_copy(block: TextsOptions, in_place: Any) -> None:
    copied = loaded(block)
    draw, n = random.Random(0), len(copied)
    wanted = [draw.randrange(n) for _ in range(200)]
    for texts in (in_place(block), in_place(block, copied=6000)):
        table = texts.table
        assert isinstance(table, PiecesTable)
        assert table.column_names == copied.table.column_names
        assert (len(texts), texts.total, texts.dropped) == (n, copied.total, copied.dropped)
        assert texts.fingerprint() == copied.fingerprint()
        for each in (table, pickle.loads(pickle.dumps(table))):
            assert list(each.batches(size=50)) == list(copied.table.batches(size=50))
            assert each.take(wanted) == copied.table.take(wanted)
            assert each.take([n - 1, 0, 0], ["source_row", "text"]) == copied.table.take(
                [n - 1, 0, 0], ["source_row", "text"]
            )
        some = table.select(wanted).select([5, 3])
        assert some.take([1, 0]) == copied.table.take([wanted[3], wanted[5]])
        assert some.ids().between(0, 2).tobytes().hex() == "".join(some["id"])


def test_held_rows_are_those_of_a_copy(block: TextsOptions, in_place: Any) -> None:
    copied, table = loaded(block), in_place(block).table
    held = np.array([40, 3, 77, 3, 120])
    table.hold(held, ["text"])
    assert table.take(held) == copied.table.take(held)
    some = [3, 4, 120, 5]
    assert table.take(some, ["text"]) == copied.table.take(some, ["text"])
    table.hold(np.array([], np.int64), ["text"])
    assert table.take(held, ["text"]) == copied.table.take(held, ["text"])


def test_held_rows_are_not_read_from_their_file_again(block: TextsOptions, in_place: Any) -> None:
    table, folder = in_place(block).table, Path(block.path or "")
    expected = table.take([9, 8], ["text"])
    table.hold(np.arange(5, 20), ["text"])
    for path in folder.iterdir():
        path.unlink()
    assert table.take([9, 8], ["text"]) == expected


def test_pieces_with_long_texts_are_read_as_dictionaries(
    tmp_path: Path, in_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may refer to one long text in many rows. Where the texts are short, reading without dictionaries is quicker."""
    for module, name, value in ((disk, "MAX_BLOCK", 100), (piece_collector, "CHUNK", 3)):
        monkeypatch.setattr(module, name, value)
    texts = [f"short {n}" for n in range(10)] + ["long " * 20] * 10 + ["short"] * 9 + [" "]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=10)
    asked: list[list[str]] = []
    real = cursors.OpenParquet
    monkeypatch.setattr(cursors, "OpenParquet", lambda *a, short: (asked.append(list(short)), real(*a, short=short))[1])
    assert in_place(TextsOptions(path=str(tmp_path))).table["text"] == texts[:-1]
    assert asked == [["text"], [], []]


def test_a_file_that_has_changed_is_refused(block: TextsOptions, in_place: Any) -> None:
    table = in_place(block).table
    for path in Path(block.path or "").iterdir():
        os.utime(path, ns=(0, 0))
    with pytest.raises(AlloyError, match="as it was when it was read first"):
        table.take([0], ["text"])


def test_several_places(block: TextsOptions, in_place: Any) -> None:
    more = block.model_copy(update={"more": [block.model_copy()]})
    copied, found = loaded(more), in_place(more)
    wanted = [0, len(copied) - 1, 5, len(copied) // 2]
    assert found.table.take(wanted) == copied.table.take(wanted)
    assert found.fingerprint() == copied.fingerprint()
    again = pickle.loads(pickle.dumps(found.table))
    again.hold(np.array(wanted), ["text"])
    assert again.take(wanted, ["text"]) == copied.table.take(wanted, ["text"])
