"""Files, folders, lists and data sets become the same table; a wrong origin says what to do."""

import subprocess
import sys

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sample_texts import LABELS, TEXTS, json_lines, write

from alloykit.data import TextsOptions, load_texts, text_id
from alloykit.data.table import BETWEEN_LABELS
from alloykit.errors import AlloyError, AlloyWarning


def test_python_lists_and_datasets_give_the_same_table():
    records = [{"text": t, "label": y, "extra": 1} for t, y in zip(TEXTS, LABELS, strict=True)]
    data = datasets.Dataset.from_list(records)
    fingerprints = {load_texts(s, want_labels=True).fingerprint() for s in (records, data)}
    assert len(fingerprints) == 1
    assert load_texts(TEXTS).table["text"][:] == TEXTS
    assert load_texts(data.with_format("arrow").select([3, 1])).table["text"][:] == [TEXTS[3], TEXTS[1]]


@pytest.mark.parametrize(
    "column", [pd.Series(TEXTS), pd.Series(TEXTS, index=range(8, 0, -1)), np.array(TEXTS), pa.chunked_array([TEXTS])]
)
def test_a_column_of_a_table_is_a_list_of_texts(column):
    assert load_texts(column).table["text"][:] == TEXTS


def test_a_missing_text_of_a_column_is_a_bad_row():
    with pytest.warns(AlloyWarning, match=r"1 text is not a string \(row 1\)"):
        assert len(load_texts(pd.Series(["a", None]))) == 1


@pytest.mark.parametrize("kind", ["list", "dataset", "saved", "parquet", "jsonl"])
def test_labels_in_a_list(kind, tmp_path):
    records = [{"text": "a", "kinds": ["x", "y"]}, {"text": "b", "kinds": []}, {"text": "c", "kinds": ["y"]}]
    data = datasets.Dataset.from_list(records)
    data.save_to_disk(tmp_path / "saved")
    data.to_parquet(tmp_path / "a.parquet")
    data.to_json(tmp_path / "a.jsonl")
    origins = {"list": records, "dataset": data, "saved": tmp_path / "saved", "parquet": tmp_path / "a.parquet"}
    origin = origins.get(kind, tmp_path / "a.jsonl")
    found = load_texts(origin, label="kinds", label_separator="|")
    assert found.table["label"][:] == [f"x{BETWEEN_LABELS}y", "", "y"]
    with pytest.raises(AlloyError, match="of type list|one label per text"):
        load_texts(origin, label="kinds")


@pytest.mark.parametrize("label", ["two  spaces", "no\u00a0break", "two\nlines"])
def test_a_name_of_several_stays_as_it_is(label):
    found = load_texts([{"text": "a", "label": f" {label} |x"}], want_labels=True, label_separator="|")
    assert found.table["label"][0].split(BETWEEN_LABELS) == [label, "x"]


def test_a_saved_dataset_is_read_back(tmp_path):
    data = datasets.Dataset.from_dict({"text": TEXTS})
    data.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": data, "test": data.select([0])}).save_to_disk(tmp_path / "many")
    assert load_texts(tmp_path / "one").table["text"][:] == TEXTS
    assert load_texts(tmp_path / "many", split="test").table["text"][:] == TEXTS[:1]


def test_a_folder_is_read_in_the_order_of_names_and_counts_rows_through(tmp_path):
    write(tmp_path / "b.jsonl", json_lines([{"text": "third", "label": "x"}]))
    write(tmp_path / "a.csv", b"label,text\nx,first\ny,second\n")
    write(tmp_path / "c.parquet", pa.table({"text": ["fourth"], "label": ["z"]}))
    write(tmp_path / ".hidden", b"")
    texts = load_texts(tmp_path, want_labels=True)
    assert texts.table["text"][:] == ["first", "second", "third", "fourth"]
    assert texts.table["label"][:] == ["x", "y", "x", "z"]
    assert texts.table["source_row"][:] == [0, 1, 2, 3]
    write(tmp_path / "notes.md", b"hello")
    with pytest.warns(AlloyWarning, match=r"Skipped.*'notes\.md'"):
        assert len(load_texts(tmp_path)) == 4
    write(tmp_path / "d.csv", b"body\nfifth\n")
    with pytest.raises(AlloyError, match=r"a column 'text'; got columns 'body' in '.*d\.csv'"):
        load_texts(tmp_path)


def test_folders_without_texts_are_refused(tmp_path):
    with pytest.raises(AlloyError, match=r"files that end in \.csv.*got none"):
        load_texts(tmp_path)
    write(tmp_path / "notes.md", b"")
    with pytest.raises(AlloyError, match=r"only 'notes\.md'"):
        load_texts(tmp_path)


def test_pairs_from_files_and_lists(tmp_path):
    path = write(tmp_path / "p.jsonl", json_lines([{"a": "x", "b": "y"}, {"a": "x", "b": None}, {"a": "x", "b": ""}]))
    texts = load_texts(path, text="a", text_pair="b")
    assert texts.table.column_names == ["id", "text", "text_pair", "source_row"]
    assert texts.table["text_pair"][:] == ["y", None, ""]
    assert texts.table["id"][:] == [text_id("x", "y"), text_id("x"), text_id("x", "")]
    assert texts.is_pair
    assert texts.duplicates == 0
    from_list = load_texts([("x", "y"), ["x", None], ("x", "")])
    assert from_list.fingerprint() == texts.fingerprint()
    with pytest.warns(AlloyWarning, match="1 text_pair is not a string"):
        assert load_texts([("x", "y"), ("x", 3)]).dropped == {"text_pair is not a string": 1}


def test_limit_reads_the_first_rows_of_the_input(tmp_path):
    with pytest.warns(AlloyWarning, match="1 of 2 rows"):
        texts = load_texts(["", "a", "b"], limit=2)
    assert (texts.table["text"][:], texts.total) == (["a"], 2)
    write(tmp_path / "a.txt", b"1\n2\n")
    write(tmp_path / "b.txt", b"3\n4\n")
    assert load_texts(tmp_path, limit=3).table["text"][:] == ["1", "2", "3"]


def test_a_missing_file_names_the_near_ones(tmp_path, monkeypatch):
    write(tmp_path / "tickets.csv", b"text\nx\n")
    with pytest.raises(AlloyError, match=r"nothing at '.*tikets\.csv'\. Did you mean 'tickets\.csv'"):
        load_texts(tmp_path / "tikets.csv")
    with pytest.raises(AlloyError, match=r"In '.*': 'tickets\.csv'"):
        load_texts(str(tmp_path / "no" / "such" / "folder"))
    monkeypatch.chdir(tmp_path)
    assert len(load_texts("tickets.csv")) == 1
    with pytest.raises(AlloyError, match="write `dataset: acme/tickets`"):
        load_texts(TextsOptions(path="acme/tickets"))


def test_only_an_owner_and_name_without_such_a_folder_is_a_hub_id(tmp_path, monkeypatch):
    calls = []

    def load_dataset(*args, **options):
        calls.append((args, options))
        if args[0] == "acme/gone":
            raise ConnectionError("no network")
        return datasets.Dataset.from_dict({"body": ["x"]})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.chdir(tmp_path)
    assert load_texts("acme/tickets", text="body", split="test").table["text"][:] == ["x"]
    assert calls == [(("acme/tickets", None), {"split": "test", "revision": None})]
    with pytest.raises(AlloyError, match=r"the data set 'acme/gone' .split 'train'.*ConnectionError: no network"):
        load_texts(TextsOptions(dataset="acme/gone"))
    with pytest.raises(AlloyError, match="columns 'body' in the data set 'acme/tickets'"):
        load_texts(TextsOptions(dataset="acme/tickets", config="en", revision="abc"))
    assert calls[-1] == (("acme/tickets", "en"), {"split": "train", "revision": "abc"})
    (tmp_path / "data").mkdir()
    for path in ("data/tickets", "texts/tickets.csv", "tickets", "./a/b"):
        with pytest.raises(AlloyError, match="an existing file or folder"):
            load_texts(path)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("origin", "options", "message"),
    [
        (7, {}, "a path, a hub id, a list.*got int"),
        (b"bytes", {}, "got bytes"),
        ((t for t in TEXTS), {}, "got generator"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_dict({})}), {}, r"splits 'train'.*data\['train'\]"),
        (pd.DataFrame({"text": ["a"]}), {}, r"got DataFrame\. Give one column, such as `data\['text'\]`"),
        (
            datasets.Dataset.from_dict({"body": ["a"]}),
            {},
            r"Rename the column: `data\.rename_column\('body', 'text'\)`, if that",
        ),
        ([("a", "b"), "c"], {}, r"only \(text, pair\).*str at position 1"),
        ([("a", "b", "c")], {}, r"only \(text, pair\).*tuple at position 0"),
        ([{"text": "a"}, "c"], {}, "only dicts.*str at position 1"),
        (["a"], {"want_labels": True}, "a column 'label'; got columns 'text'"),
        ([{1: "a"}], {}, "a column 'text'; got columns '1' in the list.*Set `text: 1`"),
        (["a"], {"txt": "b"}, "options among.*`txt`: extra inputs"),
        (["a"], {"limit": 0}, "options among.*`limit`"),
        (["a"], {"label_names": []}, "non-empty label_names"),
        (["a"], {"label_names": ["x", "x "]}, "different, non-empty label_names"),
        (["a"], {"text_pair": "text"}, "different columns"),
        ("a.csv", {"dataset": "b/c"}, "either `path`.*got both"),
    ],
)
def test_wrong_origins_and_options_are_refused(origin, options, message):
    with pytest.raises(AlloyError, match=message):
        load_texts(origin, **options)


def test_importing_the_module_stays_cheap():
    # The command line imports it for its help.
    code = "import sys, alloykit.data; print([m for m in ('torch', 'datasets', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
