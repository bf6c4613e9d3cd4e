"""Every kind of input becomes the same table, and every mistake says what to do about it."""

import gzip
import hashlib
import json
import subprocess
import sys
import warnings

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.data import TextsOptions, load_texts, text_id
from alloykit.errors import AlloyError, AlloyWarning

# What careless readers spoil: numbers, missing-value words, quotes, line breaks, other scripts, outer spaces.
TEXTS = ["00123", "NA", "null", " 1.50 ", 'He said "no", then left', "two\nlines", "naïve 日本 🙂", "true"]
LABELS = ["bug", "login", "bug", "refund", "bug", "login", "bug", "0"]
quick = settings(max_examples=60, deadline=None, derandomize=True)
# Surrogates have no UTF-8 form, so they have no id.
unicode_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(autouse=True)
def _no_unexpected_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AlloyWarning)
        yield


def cell(value, delimiter=","):
    return '"' + value.replace('"', '""') + '"' if set(value) & set(f'"\n{delimiter}') else value


def delimited(delimiter=","):
    lines = [delimiter.join(("text", "label"))]
    lines += [delimiter.join((cell(t, delimiter), y)) for t, y in zip(TEXTS, LABELS, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def json_lines(records=None):
    records = records or [{"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True)]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write(path, content):
    if path.suffix == ".parquet":
        pq.write_table(content, path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        path.write_bytes(content)
    return path


FILES = {
    "a.csv": delimited(),
    "a.CSV": delimited(),
    "a.csv.gz": b"\xef\xbb\xbf" + delimited(),
    "windows.csv": b"\xef\xbb\xbf" + delimited().replace(b"\n", b"\r\n").replace(b"two\r\n", b"two\n"),
    "a.tsv": delimited("\t"),
    "a.tsv.gz": delimited("\t"),
    "a.jsonl": json_lines(),
    "a.ndjson": json_lines(),
    "a.json": json_lines(),
    "a.jsonl.gz": json_lines(),
    "a.parquet": pa.table({"label": LABELS, "text": TEXTS}),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_format_gives_the_same_table(tmp_path, name):
    texts = load_texts(write(tmp_path / name, FILES[name]), want_labels=True)
    assert texts.table.column_names == ["id", "text", "label", "source_row"]
    assert texts.table["text"][:] == TEXTS
    assert texts.table["label"][:] == LABELS
    assert texts.table["id"][:] == [text_id(t) for t in TEXTS]
    assert texts.table["source_row"][:] == list(range(len(TEXTS)))
    assert [str(f.dtype) for f in texts.table.features.values()] == ["string", "string", "string", "int64"]
    assert (len(texts), texts.total, texts.duplicates, texts.dropped) == (8, 8, 0, {})
    assert texts.has_labels
    assert not texts.is_pair


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_txt_has_one_text_per_line(tmp_path, name):
    path = write(tmp_path / name, "text\r\n NA \nlast, line\u2028still".encode())
    assert load_texts(path).table["text"][:] == ["text", " NA ", "last, line\u2028still"]


def test_python_lists_and_datasets_give_the_same_table():
    records = [{"text": t, "label": y, "extra": 1} for t, y in zip(TEXTS, LABELS, strict=True)]
    data = datasets.Dataset.from_list(records)
    fingerprints = {load_texts(s, want_labels=True).fingerprint() for s in (records, data)}
    assert len(fingerprints) == 1
    assert load_texts(TEXTS).table["text"][:] == TEXTS
    assert load_texts(data.with_format("arrow").select([3, 1])).table["text"][:] == [TEXTS[3], TEXTS[1]]


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


BAD = ["fine", "", " \t", None, 7, "lone \ud800", "n\0ul", "also fine"]
REASONS = {
    "empty text": 2,
    "text is not a string": 2,
    "text is not valid Unicode": 1,
    "text contains a NUL character": 1,
}


def test_bad_rows_are_counted_dropped_and_reported():
    with pytest.warns(AlloyWarning) as caught:
        texts = load_texts(BAD)
    assert texts.table["text"][:] == ["fine", "also fine"]
    assert texts.table["source_row"][:] == [0, 7]
    assert texts.dropped == REASONS
    assert texts.total == len(texts) + sum(texts.dropped.values()) == 8
    message = str(caught[0].message)
    assert "Dropped 6 of 8 rows" in message
    assert "2 empty text (rows 1, 2)" in message
    assert "1 text is not valid Unicode (row 5)" in message
    assert "lone" not in message, "a warning must not print texts"
    assert caught[0].filename == __file__


def test_bad_rows_are_refused_on_request():
    with pytest.raises(AlloyError, match=r"usable text in every row.*6 of 8 rows.*`bad_rows: drop`"):
        load_texts(BAD, bad_rows="refuse")
    assert len(load_texts(["fine"], bad_rows="refuse")) == 1


def test_only_the_first_bad_rows_are_listed():
    with pytest.warns(AlloyWarning, match=r"10 empty text \(rows 1, 2, 3, 4, 5, …\)"):
        load_texts(["fine", *[""] * 10])


@pytest.mark.parametrize(
    ("source", "message"), [([], "got no rows"), (["", None], r"unusable were 2 of 2 rows.*empty text")]
)
def test_no_usable_text_is_an_error(source, message):
    with pytest.raises(AlloyError, match=f"at least one usable text.*{message}"):
        load_texts(source)


def test_lines_without_text_keep_their_numbers(tmp_path):
    with pytest.warns(AlloyWarning, match=r"1 empty text \(row 1\)"):
        assert load_texts(write(tmp_path / "a.txt", b"a\n\nb\n")).table["source_row"][:] == [0, 2]


def test_duplicates_stay_and_are_counted():
    texts = load_texts(["a", "b", "a", "a", "A"])
    assert texts.table["text"][:] == ["a", "b", "a", "a", "A"]
    assert texts.duplicates == 2


def test_many_rows_keep_their_order():
    many = [f"text {i % 15_000}" for i in range(25_000)]  # more than one chunk
    texts = load_texts(many)
    assert texts.table["text"][:] == many
    assert texts.duplicates == 10_000


def test_limit_reads_the_first_rows_of_the_input(tmp_path):
    with pytest.warns(AlloyWarning, match="1 of 2 rows"):
        texts = load_texts(["", "a", "b"], limit=2)
    assert (texts.table["text"][:], texts.total) == (["a"], 2)
    write(tmp_path / "a.txt", b"1\n2\n")
    write(tmp_path / "b.txt", b"3\n4\n")
    assert load_texts(tmp_path, limit=3).table["text"][:] == ["1", "2", "3"]


def test_labels_are_read_only_when_wanted():
    rows = [{"text": "a", "label": "x", "kind": "y"}]
    assert "label" not in load_texts(rows).table.column_names
    assert load_texts(rows, label="kind").table["label"][:] == ["y"]
    assert load_texts(rows, want_labels=True).table["label"][:] == ["x"]
    assert load_texts(rows, want_labels=True, label="kind").table["label"][:] == ["y"]
    # Labels that nobody asked for cannot do harm.
    assert len(load_texts([{"text": "a", "label": 3}])) == 1


def test_missing_labels_are_bad_rows():
    rows = [{"text": "a", "label": y} for y in (" x ", None, "", float("nan"), " ")] + [{"text": "a"}]
    with pytest.warns(AlloyWarning, match="5 missing label"):
        texts = load_texts(rows, want_labels=True)
    assert texts.table["label"][:] == ["x"]
    assert texts.dropped == {"missing label": 5}


@pytest.mark.parametrize("value", [1, 1.0, "1", " 1 ", "login"])
def test_label_names_name_integers(value):
    rows = [{"text": "a", "label": value}]
    assert load_texts(rows, want_labels=True, label_names=["bug", "login"]).table["label"][:] == ["login"]


def test_class_labels_bring_their_names(tmp_path):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features=features)
    assert load_texts(data, want_labels=True).table["label"][:] == ["yes", "no"]
    assert load_texts(data, want_labels=True, label_names=["x", "y"]).table["label"][:] == ["y", "x"]
    data.to_parquet(tmp_path / "a.parquet")
    assert load_texts(tmp_path / "a.parquet", want_labels=True).table["label"][:] == ["yes", "no"]


@pytest.mark.parametrize(
    ("value", "names", "message"),
    [
        (3, None, r"names for integer labels.*the label 3 in row 0.*`label_names: \[bug"),
        (2, ["a", "b"], "from 0 to 1.*got 2 in row 0"),
        (-1, ["a", "b"], "got -1 in row 0.*unlabelled split"),
        ("c", ["a", "b"], "a label among 'a', 'b'; got 'c'"),
        ("0", ["1", "2"], "a label among '1', '2'; got '0'"),
        (1.5, ["a", "b"], "one label per text.*float"),
        (["a", "b"], None, "one label per text.*list"),
    ],
)
def test_wrong_labels_are_refused(value, names, message):
    with pytest.raises(AlloyError, match=message):
        load_texts([{"text": "t", "label": value}], want_labels=True, label_names=names)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", b"body,subject\nx,y\n", {}, "a column 'text'; got columns 'body', 'subject'.*Set `text: body`"),
        ("a.csv", b"id,Texts\n1,x\n", {}, r"Set `text: Texts`\."),
        ("a.csv", b"my first text\nmy second\n", {}, "'my first text'.*header line.*ending .txt"),
        ("a.csv", b"text,text\nx,y\n", {}, "one column 'text'; got columns 'text', 'text'"),
        ("a.csv", b"", {}, "a column 'text'; got columns none"),
        ("a.csv", b"text,label\nx\n", {}, "well-formed csv.*1 cells where the first line has 2' at line 2"),
        ("a.tsv", b'text\n"x" y\n', {}, r"well-formed tsv in '.*a\.tsv'.*at line 2.*quotes"),
        ("a.csv", b'text\n"open', {}, "well-formed csv.*unexpected end"),
        ("a.csv", b"text\nx\n", {"want_labels": True}, "a column 'label'; got columns 'text'"),
        ("a.csv", b"text\nx\n", {"text_pair": "b"}, "a column 'b'"),
        ("a.txt", b"x\n", {"text": "body"}, "a column 'body'; got columns 'text'"),
        ("a.csv", "text\ncafé\n".encode("latin-1"), {}, r"UTF-8 text in '.*a\.csv'; got the byte 0xe9.*iconv"),
        ("a.txt", "x".encode("utf-16"), {}, r"UTF-8 text in '.*a\.txt'; got the byte 0xff"),
        ("a.jsonl", b'{"text": "\xe9"}\n', {}, r"UTF-8 text in '.*a\.jsonl'"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', {}, "one JSON object in each line.*at line 2"),
        ("a.json", b'[{"text": "x"}]', {}, "got list at line 1.*jq"),
        ("a.jsonl", b'{"body": "x"}\n', {}, "a column 'text'; got columns 'body'"),
        ("a.csv.gz", None, {}, "a readable file.*BadGzipFile"),
        ("a.parquet", None, {}, "a readable file.*a.parquet"),
        ("a.xlsx", b"", {}, "a file that ends in .csv"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(b"nonsense" if content is None else content)
    with pytest.raises(AlloyError, match=message):
        load_texts(path, **options)


def test_a_cut_off_gzip_file_is_an_error(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"text\n" * 10_000)[:-20])
    with pytest.raises(AlloyError, match=r"a readable file.*EOFError"):
        load_texts(tmp_path / "a.txt.gz")


def test_json_columns_may_appear_late_and_blank_lines_are_skipped(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a"}\n\n{"text": "b", "pair": "c"}\n')
    assert load_texts(path, text_pair="pair").table["text_pair"][:] == [None, "c"]


def test_json_escapes_of_surrogates_are_bad_rows(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "\\ud83d\\ude42"}\n{"text": "\\ud83d"}\n')
    with pytest.warns(AlloyWarning, match="1 text is not valid Unicode"):
        assert load_texts(path).table["text"][:] == ["🙂"]


def test_line_breaks_within_csv_cells_stay_as_they_are(tmp_path):
    path = write(tmp_path / "a.csv", b'text\r\n"a\r\nb"\r\n"c\rd"\r\n')
    assert load_texts(path).table["text"][:] == ["a\r\nb", "c\rd"]


def test_very_long_cells_are_read(tmp_path):
    write(tmp_path / "a.csv", b"text\n" + b"x" * 200_000)
    assert len(load_texts(tmp_path / "a.csv").table["text"][0]) == 200_000


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
    ("source", "options", "message"),
    [
        (7, {}, "a path, a hub id, a list.*got int"),
        (b"bytes", {}, "got bytes"),
        ((t for t in TEXTS), {}, "got generator"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_dict({})}), {}, r"splits 'train'.*data\['train'\]"),
        ([("a", "b"), "c"], {}, r"only \(text, pair\).*str at position 1"),
        ([("a", "b", "c")], {}, r"only \(text, pair\).*tuple at position 0"),
        ([{"text": "a"}, "c"], {}, "only dicts.*str at position 1"),
        (["a"], {"want_labels": True}, "a column 'label'; got columns 'text'"),
        (["a"], {"txt": "b"}, "options among.*`txt`: extra inputs"),
        (["a"], {"limit": 0}, "options among.*`limit`"),
        (["a"], {"label_names": []}, "non-empty label_names"),
        (["a"], {"label_names": ["x", "x "]}, "different, non-empty label_names"),
        (["a"], {"text_pair": "text"}, "different columns"),
        ("a.csv", {"dataset": "b/c"}, "either `path`.*got both"),
    ],
)
def test_wrong_sources_and_options_are_refused(source, options, message):
    with pytest.raises(AlloyError, match=message):
        load_texts(source, **options)


def test_options_need_one_source_and_can_be_overridden(tmp_path):
    with pytest.raises(AlloyError, match=r"either `path` .* or `dataset` .*got neither"):
        TextsOptions()
    path = write(tmp_path / "a.csv", b"text,body\nx,y\n")
    options = TextsOptions(path=str(path), text="body")
    assert load_texts(options).table["text"][:] == ["y"]
    assert load_texts(options, text="text").table["text"][:] == ["x"]


def test_ids_are_salted_from_the_environment(monkeypatch):
    monkeypatch.delenv("TEXT_SALT", raising=False)
    for value, got in ((None, "none"), ("", "an empty value")):
        if value is not None:
            monkeypatch.setenv("TEXT_SALT", value)
        with pytest.raises(AlloyError, match=f"a salt in the environment variable TEXT_SALT; got {got}"):
            load_texts(["a"], salt_env="TEXT_SALT")
    monkeypatch.setenv("TEXT_SALT", "pepper")
    assert load_texts(["a"], salt_env="TEXT_SALT").table["id"][:] == [text_id("a", salt="pepper")]


def test_the_id_of_a_text_never_changes():
    # Stores on disk are keyed by it: a change here makes every one of them useless.
    # The layout by hand: 8 bytes of length before the UTF-8 of salt, text and pair.
    layout = b"\0\0\0\0\0\0\0\6pepper" + b"\0\0\0\0\0\0\0\5hello" + b"\0\0\0\0\0\0\0\6w\xc3\xb6rld"
    assert (
        text_id("hello", "wörld", "pepper")
        == hashlib.sha256(layout).hexdigest()[:32]
        == "75b3d358ac8591484a9bd22c82408da1"
    )
    assert text_id("hello") == "609a82caa03fe78b373c978368bfcb14"


@quick
@given(
    st.tuples(unicode_text, st.none() | unicode_text, unicode_text),
    st.tuples(unicode_text, st.none() | unicode_text, unicode_text),
)
def test_ids_are_equal_exactly_when_text_pair_and_salt_are(one, other):
    assert (text_id(*one) == text_id(*other)) == (one == other)
    assert len(text_id(*one)) == 32
    assert int(text_id(*one), 16) >= 0


@quick
@given(unicode_text)
def test_ids_know_where_each_part_ends(text):
    cuts = [(text[:cut], text[cut:]) for cut in range(len(text) + 1)]
    ids = [text_id(a, b) for a, b in cuts] + [text_id(b, salt=a) for a, b in cuts]
    assert len(set(ids)) == len(ids)


def test_ids_of_what_is_no_text_are_refused():
    with pytest.raises(AlloyError, match=r"valid Unicode.*lone surrogate at 1"):
        text_id("a\ud800")


def test_the_fingerprint_depends_on_content_order_and_labels():
    def fingerprint(rows, **options):
        return load_texts([{"text": t, "label": y} for t, y in rows], **options).fingerprint()

    rows = [("a", "x"), ("b", "y"), ("c", "y")]
    prints = [
        fingerprint(rows),
        fingerprint(rows[::-1]),
        fingerprint(rows[:2]),
        fingerprint([*rows, rows[0]]),
        fingerprint([("A", "x"), *rows[1:]]),
        fingerprint(rows, want_labels=True),
        fingerprint([("a", "y"), *rows[1:]], want_labels=True),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint(rows) == prints[0]
    assert fingerprint([("a", "other"), *rows[1:]]) == prints[0], "labels that were not read do not count"


def test_importing_the_module_stays_cheap():
    # The command line imports it for its help.
    code = "import sys, alloykit.data; print([m for m in ('torch', 'datasets', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
