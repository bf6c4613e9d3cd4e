"""A text, a line or a row that is too long is refused, in every format, before it fills the memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alloykit.commands.predict import predict
from alloykit.data import csv_files, disk, limits, load_texts, parquet_files, readers, table
from alloykit.errors import AlloyError

TEXT, LINE = 1000, 8000
LONG = "y" * (TEXT + 1)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Smaller limits, so that the tests are quick."""
    for module in (limits, readers, csv_files, parquet_files, table):
        monkeypatch.setattr(module, "MAX_TEXT", TEXT, raising=False)
        monkeypatch.setattr(module, "MAX_LINE", LINE, raising=False)
    monkeypatch.setattr(limits.lines_of, "__defaults__", (LINE,))
    before = csv.field_size_limit(TEXT)
    yield
    csv.field_size_limit(before)


def checked_rows(*rows: str, separator: str = ",") -> bytes:
    return ("\n".join([separator.join(("text", "label")), *rows]) + "\n").encode()


TOO_LONG = {
    "a.csv": (checked_rows("ok,a", f"{LONG},b"), "line 3"),
    "quoted.csv": (checked_rows("ok,a", f'"{LONG}",b'), "line 3"),
    "open quote.csv": (checked_rows('"ok,a', *["lines and lines"] * 1000), "line"),
    "many cells.csv": (checked_rows("ok,a", ",".join(["x" * 900] * 9)), "line 3"),
    "many lines.csv": (checked_rows("ok,a", ",".join([f'"{"x" * 400}\n{"x" * 400}"'] * 11)), "many lines.csv"),
    "a.tsv": (checked_rows("ok\ta", f"{LONG}\tb", separator="\t"), "line 3"),
    "a.jsonl": ((json.dumps({"text": "ok"}) + "\n" + json.dumps({"text": LONG})).encode(), "row 1"),
    "long line.jsonl": (b'{"text": "ok"}\n{"text": "ok", "more": "' + b"x" * LINE + b'"}', "line 2"),
    "open.jsonl": (b'{"text": "' + b"x" * 10 * LINE, "line 1"),
    "a.txt": (f"ok\r\n{LONG}\r\n".encode(), "line 2"),
    "a.txt.gz": (gzip.compress(f"ok\n{LONG}".encode()), "line 2"),
    "a.csv.gz": (gzip.compress(checked_rows(f"{LONG},a")), "line 2"),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_text_or_line_over_the_limit_is_refused_with_its_place(tmp_path, name) -> None:
    content, place = TOO_LONG[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AlloyError, match=r"at most [\d,]+ characters in each (text|line)") as refused:
        load_texts(tmp_path / name)
    assert place in refused.value.got
    assert name in refused.value.got
    assert len(str(refused.value)) < 500
    with pytest.raises(AlloyError, match="at most"):
        load_texts(tmp_path)  # as a folder


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.parquet"])
def test_a_text_at_the_limit_is_read(tmp_path, name) -> None:
    text, path = "é" * TEXT, tmp_path / name
    if name == "a.parquet":
        pq.write_table(pa.table({"text": [text, "b"]}), path)
    elif name == "a.jsonl":
        path.write_text(json.dumps({"text": text}) + '\n{"text": "b"}\n')
    else:
        path.write_text((f"{text}\nb\n") if name == "a.txt" else f"text\n{text}\nb\n", newline="\r\n")
    assert load_texts(path).table["text"] == [text, "b"]


@pytest.mark.parametrize("role", ["text", "text_pair", "label"])
def test_python_values_over_the_limit_are_refused(role: str) -> None:
    row = {"text": "a", "text_pair": "b", "label": "c"}
    with pytest.raises(AlloyError, match="1,001 characters in row 1 of the list"):
        load_texts([row, row | {role: LONG}], text_pair="text_pair", want_labels=True)


def columns() -> dict[str, pa.Array]:
    values = [*["ok"] * 1500, LONG, "z"]
    strings = pa.array(values)
    return {
        "string": strings,
        "large_string": strings.cast(pa.large_string()),
        "dictionary": strings.dictionary_encode(),
        "wide characters": pa.array(["é" * n for n in (TEXT, TEXT + 1)]),
    }


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize("encoded", [True, False])
def test_parquet_cells_over_the_limit_are_refused_with_their_row(tmp_path, name, encoded) -> None:
    values = columns()[name]
    pq.write_table(
        pa.table({"text": values}), path := tmp_path / "a.parquet", use_dictionary=encoded, row_group_size=700
    )
    row = values.to_pylist().index(max(values.to_pylist(), key=len))
    with pytest.raises(AlloyError, match=rf"1,000 characters in each text; got more in row {row} of '.*a\.parquet'"):
        load_texts(path)
    with pytest.raises(AlloyError, match=f"row {row} of the data set"):
        load_texts(datasets.Dataset(pa.table({"text": values})))


def test_a_parquet_file_of_few_giant_cells_is_refused_before_it_is_read(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a" * 5_000_000]}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(AlloyError, match="in each text; got more in column 'text', row group 0"):
        load_texts(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_one_long_text_for_many_rows_of_parquet_is_one_string(tmp_path, kind) -> None:
    path, text = tmp_path / "a.parquet", "a" * TEXT
    texts = pa.array([text] * 3000, kind)
    try:
        pq.write_table(pa.table({"text": texts, "label": pa.array([0, 1, None] * 1000)}), path)
    except pa.ArrowNotImplementedError:
        pytest.skip("the lowest supported pyarrow cannot write this kind")
    tracemalloc.start()
    rows = list(readers.read_file(path, ["text", "label"]).rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [tuple(row) for row in rows] == [(text, n) for n in (0, 1, None)] * 1000
    assert len({id(row[0]) for row in rows}) <= 3  # one for each batch of rows
    assert peak < 1_000_000


def test_missing_texts_of_parquet_stay_missing(tmp_path) -> None:
    values = ["a", None, "b", "a", None]
    for n, array in enumerate(
        (pa.array(values), pa.array(values).dictionary_encode(), pa.array([None] * 5, pa.string()))
    ):
        pq.write_table(pa.table({"text": array}), path := tmp_path / f"{n}.parquet")
        assert [row[0] for row in readers.read_file(path, ["text"]).rows] == array.to_pylist()


@pytest.mark.parametrize("kind", ["list", "struct", "bytes"])
def test_columns_that_hold_no_text_are_refused(tmp_path, kind) -> None:
    values = {"list": [["a"]], "struct": [{"a": "b"}], "bytes": [b"a"]}[kind]
    pq.write_table(pa.table({"text": values}), path := tmp_path / "a.parquet")
    with pytest.raises(AlloyError, match="columns of text or numbers in .*a.parquet"):
        load_texts(path)


METADATA = {
    "no JSON": b"{",
    "not UTF-8": b"\xff\xfe\xfa",
    "a list": b"[]",
    "a number": b"5",
    "info is a string": b'{"info": "x"}',
    "features are a list": b'{"info": {"features": ["label"]}}',
    "no names": b'{"info": {"features": {"label": {"_type": "ClassLabel"}}}}',
    "names are a number": b'{"info": {"features": {"label": {"_type": "ClassLabel", "names": 3}}}}',
    "names are numbers": b'{"info": {"features": {"label": {"_type": "ClassLabel", "names": [1, 2]}}}}',
    "deep": b'{"info": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", METADATA)
def test_damaged_metadata_of_parquet_is_a_message(tmp_path, name) -> None:
    saved = pa.table({"text": ["a", "b"], "label": [0, 1]}).replace_schema_metadata({b"huggingface": METADATA[name]})
    pq.write_table(saved, path := tmp_path / "a.parquet")
    with pytest.raises(AlloyError, match="names of the labels in the `huggingface` metadata of .*a.parquet"):
        load_texts(path, want_labels=True)


@pytest.mark.parametrize("metadata", [b"{}", b'{"info": {}}', b'{"info": {"features": null}}',
                                      b'{"info": {"features": {"label": {"_type": "nonsense"}, "other": 3}}}'])  # fmt: skip
def test_other_metadata_of_parquet_does_not_matter(tmp_path, metadata) -> None:
    saved = pa.table({"text": ["a", "b"], "label": ["x", "y"]}).replace_schema_metadata({b"huggingface": metadata})
    pq.write_table(saved, path := tmp_path / "a.parquet")
    assert load_texts(path, want_labels=True).table["label"] == ["x", "y"]


@pytest.mark.parametrize(("name", "content"), [("state.json", b""), ("state.json", b"[]"), ("state.json", b'{"_data_files": 3}'),
                                             ("dataset_info.json", b"\xff"), ("dataset_info.json", b"[]"),
                                             ("data-00000-of-00001.arrow", b"nonsense")])  # fmt: skip
def test_a_damaged_saved_data_set_is_a_message(tmp_path, name, content) -> None:
    datasets.Dataset.from_dict({"text": ["a", "b"]}).save_to_disk(tmp_path / "set")
    assert load_texts(tmp_path / "set").table["text"] == ["a", "b"]
    (tmp_path / "set" / name).write_bytes(content)
    with pytest.raises(AlloyError, match="data set that `save_to_disk` wrote"):
        load_texts(tmp_path / "set")


def test_a_long_line_of_standard_input_is_refused(models, monkeypatch) -> None:
    monkeypatch.setattr("alloykit.finished_runs.predict_texts.MAX_TEXT", TEXT)
    lines = io.StringIO(f"refund my card\n{'x' * (limits.MAX_TEXT + 1)}\n")
    with pytest.raises(AlloyError, match="in each text; got more in line 2 of standard input"):
        list(predict(models["billing"], lines))


def test_blocks_on_the_disk_are_cut_by_size_too(monkeypatch) -> None:
    monkeypatch.setattr(disk, "MAX_BLOCK", 2_000)
    texts = [f"{n} " + "x" * (n % 900) for n in range(2500)]
    loaded = load_texts(texts).table
    assert len(loaded) == 2500
    assert loaded._data.data.column(0).num_chunks > 100
    assert loaded["text"] == texts
    order = np.random.default_rng(0).permutation(2500)
    assert loaded.take(order, ["text"])["text"] == [texts[i] for i in order]
    assert loaded.select(order)[7]["text"] == texts[order[7]]
    assert [t for batch in loaded.batches(["text"], 333) for t in batch["text"]] == texts
