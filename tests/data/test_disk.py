"""The table on the disk reads like a list of rows, in any order and in pieces."""

from __future__ import annotations

import gc
import pickle
import random

import numpy as np
import pytest

from alloykit.data import load_texts
from alloykit.data.text_table import BATCH
from alloykit.errors import AlloyError

N = 2 * BATCH + 345
TEXTS = [f"text number {n} " + "x" * (n % 7) for n in range(N)]


@pytest.fixture(scope="module")
def table():
    return load_texts(TEXTS).table


def test_columns_rows_and_length(table):
    assert len(table) == N
    assert table["text"] == TEXTS
    for i in (0, BATCH - 1, BATCH, N - 1, -1):
        assert table[i]["text"] == TEXTS[i]
        assert table[i]["source_row"] == i % N
    for i in (N, -N - 1):
        with pytest.raises(IndexError):
            table[i]


def test_any_rows_in_any_order(table):
    rng = random.Random(0)
    wanted = [rng.randrange(N) for _ in range(500)]  # with repetitions, over all pieces
    assert table.take(wanted, ["text"]) == {"text": [TEXTS[i] for i in wanted]}
    assert table.take(np.array(wanted))["source_row"] == wanted
    near = [rng.randrange(900, 1100) for _ in range(100)]  # all between two rows that are read together
    assert table.take(near, ["source_row", "text"]) == {"source_row": near, "text": [TEXTS[i] for i in near]}
    assert table.take([]) == {name: [] for name in table.column_names}


@pytest.mark.parametrize("size", [1, 7, BATCH, BATCH + 1, 10 * BATCH])
def test_batches_cover_everything_in_order(table, size):
    some = table.select(range(5, N)) if size > 1 else table.select(range(50))
    found = list(some.batches(["text"], size))
    assert [len(batch["text"]) for batch in found[:-1]] == [size] * (len(found) - 1)
    assert [t for batch in found for t in batch["text"]] == some["text"]


def test_a_selection_of_a_selection(table):
    some = table.select([7, 2000, 3, 3])
    assert some["text"] == [TEXTS[i] for i in (7, 2000, 3, 3)]
    assert len(some) == 4
    assert some[1]["text"] == TEXTS[2000]
    assert some.select([3, 0])["text"] == [TEXTS[3], TEXTS[7]]
    assert some.take([1, 0], ["source_row"]) == {"source_row": [2000, 7]}


def test_ids_are_those_of_the_column(table):
    texts = load_texts(TEXTS)
    assert [row.tobytes().hex() for row in texts.ids().between(0, N)] == table["id"]
    assert len(texts.ids()) == N


def test_nothing_is_left_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    texts = load_texts(TEXTS)
    some = texts.table.select([5])
    del texts
    assert len(list(tmp_path.iterdir())) == 1
    assert some["text"] == [TEXTS[5]]
    del some
    gc.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("positions", [None, [7, 2000, 3, 3]])
def test_a_pickled_table_reads_the_same_rows(table, positions):
    some = table if positions is None else table.select(positions)
    sent = pickle.dumps(some)
    assert len(sent) < 1000, "a path, not the texts"
    copy = pickle.loads(sent)
    assert copy["text"] == some["text"]
    assert copy.column_names == table.column_names


def test_a_full_disk_is_a_clear_message(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(AlloyError, match=r"room to write the texts in .*No space left.*TMPDIR"):
        load_texts(["a", "b"])
