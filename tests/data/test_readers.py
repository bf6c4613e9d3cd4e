"""Every file format becomes the same table, and a file that cannot be read says why."""

import bz2
import gzip
import lzma
import os
import warnings
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_texts import LABELS, TEXTS, delimited, json_lines, write

from alloykit.data import load_texts, text_id
from alloykit.data.csv_files import csv_rows
from alloykit.data.parquet_files import parquet_rows
from alloykit.errors import AlloyError, AlloyWarning

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
    assert [str(t) for t in texts.table.schema.types] == ["string", "string", "string", "int64"]
    assert (len(texts), texts.total, texts.duplicates, texts.dropped) == (8, 8, 0, {})
    assert texts.has_labels
    assert not texts.is_pair


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_txt_has_one_text_per_line(tmp_path, name):
    path = write(tmp_path / name, "text\r\n NA \nlast, line\u2028still".encode())
    assert load_texts(path).table["text"][:] == ["text", " NA ", "last, line\u2028still"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        (
            "a.csv",
            b"body,subject\nx,y\n",
            {},
            "a column 'text'; got columns 'body', 'subject'.*Set `text: body`.*`--text body`.*, if that",
        ),
        (
            "a.csv",
            b"id,Texts\n1,x\n",
            {},
            r"Set `text: Texts` in the recipe, or `--text Texts` where a command reads none\.",
        ),
        (
            "a.csv",
            b"text;label\nx;y\n",
            {},
            r"commas between the columns of .*a\.csv'; got semicolons: 'text;label'.*sep=';'",
        ),
        ("a.csv", b"text;label\nx, y;z\n", {"text": "text;label"}, "got semicolons"),
        ("a.csv", b"text\tlabel\nx\ty\n", {}, r"got tabs: .*end in \.tsv"),
        ("a.csv", b"text|label|\nx|y|\n", {}, "got vertical bars"),
        ("a.tsv", b"text,label\nx,y\n", {}, r"tabs between the columns of .*got commas.*end in \.csv"),
        ("a.csv", b"sep=,\ntext,label\nx,y\n", {}, "only Excel understands.*Delete this line"),
        ("a.csv", b"sep=;\ntext;label\nx;y\n", {}, "only Excel understands"),
        ("a.csv", b"# comment\nx\n", {}, r"got columns '# comment' in '.*a\.csv'\. If the first line is a text"),
        ("a.csv", b"my first text\nmy second\n", {}, "'my first text'.*header line.*ending .txt"),
        ("a.csv", b"text,text\nx,y\n", {}, "one column 'text'; got columns 'text', 'text'.*Rename all but one"),
        ("a.csv", b"", {}, "a column 'text'; got columns none in .*It is empty"),
        ("a.csv", b"text,label\nx\n", {}, "well-formed csv.*1 cells where the first line has 2' at line 2"),
        ("a.tsv", b'text\n"x" y\n', {}, r"well-formed tsv in '.*a\.tsv'.*at line 2.*quotes"),
        ("a.csv", b'text\n"open', {}, "well-formed csv.*unexpected end"),
        ("a.csv", b"text\nx\n", {"want_labels": True}, "a column 'label'; got columns 'text'"),
        ("a.csv", b"text\nx\n", {"text_pair": "b"}, "a column 'b'"),
        ("a.txt", b"x\n", {"text": "body"}, "a column 'body'; got columns 'text'"),
        ("a.csv", "text\ncafé\n".encode("latin-1"), {}, r"UTF-8 text in '.*a\.csv'; got the byte 0xe9.*iconv"),
        ("a.txt", "x".encode("utf-16"), {}, r"UTF-8 text in '.*a\.txt'; got UTF-16 text.*iconv -f UTF-16"),
        ("a.csv", b"\xfe\xff\0t\0e", {}, "got UTF-16 text"),
        ("a.csv", gzip.compress(b"text\nx\n", mtime=0), {}, r"got a gzip file\. Let its name end in \.gz"),
        ("a.csv", b"\x28\xb5\x2f\xfd\x24", {}, r"got a zstd file\. Unpack it, or pack it with gzip"),
        ("a.csv", bz2.compress(b"text\nx\n"), {}, "got a bzip2 file"),
        ("a.csv", lzma.compress(b"text\nx\n"), {}, "got an xz file"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", {}, "got a workbook of Excel"),
        ("a.csv", "text,label\nx,y\n".encode("utf-16-le"), {}, "got UTF-16LE text.*iconv -f UTF-16LE"),
        ("a.jsonl", '{"text": "x"}\n'.encode("utf-16-be"), {}, "got UTF-16BE text.*iconv -f UTF-16BE"),
        ("a.txt", "naïve\n".encode("utf-16-le"), {}, "got UTF-16LE text"),
        ("a.txt", "x".encode("utf-32"), {}, "got UTF-32 text.*iconv -f UTF-32"),
        ("a.csv.gz", gzip.compress(gzip.compress(b"text\nx\n", mtime=0), mtime=0), {}, "packed twice: unpack it once"),
        ("a.csv", b'"text";"label"\n"x";"y"\n', {}, r"commas between the columns.*got semicolons: '\"text\";"),
        ("a.csv", b'"text"\t"label"\n"x"\t"y"\n', {}, r"got tabs.*end in \.tsv"),
        ("a.csv", b'id, text\n1, "x, y"\n', {}, "Delete the blank between separator and quote"),
        (
            "a.csv",
            b'"label", "text"\n"x", "y"\n',
            {},
            "In the first line, delete the blank between separator and quote",
        ),
        ("a.csv", b"PK\x03\x04\x14\x00", {}, "got a zip file or a workbook of Excel"),
        ("a.jsonl", b"PAR1\x15", {}, "got a Parquet file"),
        ("a.csv.gz", gzip.compress("text\nx\n".encode("utf-16"), mtime=0), {}, "got UTF-16 text"),
        ("a.jsonl", b'{"text": "\xe9"}\n', {}, r"UTF-8 text in '.*a\.jsonl'"),
        ("a.jsonl", b'{"text": "x"}\n"' + b"x" * 5_000 + b'"\n', {}, "one JSON object in each line.*got str at line 2"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', {}, "one JSON object in each line.*at line 2"),
        ("a.json", b'[{"text": "x"}]', {}, "got list at line 1.*also in a file that ends in .json.*jq"),
        ("a.json", b'{"text": {"0": "x", "1": "y"}}', {}, "an object with a column in each key.*lines=True"),
        ("a.jsonl", b'{"body": "x"}\n', {}, "a column 'text'; got columns 'body'"),
        ("a.csv.gz", None, {}, "a gzip file in .*, as its name says; got .*Not a gzipped file.*end without .gz"),
        ("a.parquet", None, {}, "a readable file.*a.parquet"),
        ("a.xlsx", b"", {}, "a file that ends in .csv"),
        (
            "a.parquet.gz",
            b"",
            {},
            r"a file that ends in .csv, .tsv, .*\.txt \(also with .gz after it\) or .parquet; got",
        ),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, content, options, message):
    path = tmp_path / name
    path.write_bytes(b"nonsense" if content is None else content)
    with pytest.raises(AlloyError, match=message):
        load_texts(path, **options)


@pytest.mark.parametrize("text", ["a\0b\n", "text\na\0b\nc\0d\n", "\0", "naïve 日本 🙂\n", "Привет\n"])
def test_utf8_with_few_nul_characters_is_not_utf16(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(f"some text\n{text}", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlloyWarning)
        assert load_texts(path).table["text"][0] == "some text"


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


def test_memory_does_not_grow_with_the_row_groups_of_a_parquet_file(tmp_path):
    path, most = tmp_path / "many.parquet", 0
    pq.write_table(
        pa.table({"text": [f"a text with the number {n}" for n in range(200_000)]}), path, row_group_size=2000
    )
    before = pa.total_allocated_bytes()
    for n, _ in enumerate(parquet_rows(path, ["text"])):
        if n % 2000 == 0:
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < 1_000_000


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_a_pipe_is_read_once(tmp_path, name):
    pipe, found = tmp_path / name, []
    os.mkfifo(pipe)
    content = {"a.jsonl": json_lines(), "a.csv": delimited(), "a.txt": b"one\ntwo\n"}[name]
    reader = Thread(target=lambda: found.append(load_texts(pipe)), daemon=True)
    reader.start()
    pipe.write_bytes(content)
    reader.join(20)
    assert found, "it does not wait for a second writer"
    assert found[0].table["text"][:] == (["one", "two"] if name == "a.txt" else TEXTS)


def test_a_row_of_many_columns_costs_no_look_at_all_of_their_names():
    looks = []

    class Header(list):
        def __iter__(self):
            looks.append(1)
            return super().__iter__()

    header = Header(f"column {i}" for i in range(200))
    rows = ([f"{r}/{i}" for i in range(200)] for r in range(50))
    found = list(csv_rows(rows, header, ["column 7", "of no file", "column 199"]))
    assert found == [[f"{r}/7", None, f"{r}/199"] for r in range(50)]
    assert len(looks) < 50
