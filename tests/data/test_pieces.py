"""Pieces of a file have its rows: each once, in order, with line breaks and quotes in cells. Where a piece may be wrong, it cannot be read."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from alloykit.data import pieces
from alloykit.data.pieces import pieces_of, read_piece
from alloykit.data.readers import read_file
from alloykit.errors import AlloyError

SIGNS = ["a", "bc", '"', '""', ",", "\t", "\n", "\r\n", "\r", "é", "\u2028", " ", "\ufeff", '","', '"\n"', "\n\n"]
CELLS = st.lists(st.sampled_from(SIGNS), max_size=5).map("".join)
FILES = st.lists(st.sampled_from(SIGNS), max_size=40).map("".join)
SETTINGS = settings(max_examples=100, derandomize=True, deadline=None)


@pytest.fixture(scope="module", autouse=True)
def _small() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "AHEAD", 3)
        yield


def whole(path: Path, wanted: list[str]) -> list[list[Any]] | None:
    """None if it cannot be read."""
    try:
        return [list(row) for row in read_file(path, wanted).rows]
    except AlloyError:
        return None


def in_pieces(path: Path, wanted: list[str], size: int) -> tuple[list[list[Any]] | None, int]:
    """The rows, and the number of pieces. None if there are no pieces, or one of them cannot be read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BYTES", size)
        try:
            found = pieces_of(path, {name: name for name in wanted})
            if found is None:
                return None, 0
            return [list(row) for piece in found for row in read_piece(piece, wanted).rows], len(found)
        except AlloyError:
            return None, 0


def check(name: str, content: str, wanted: list[str], size: int, *, always: bool) -> None:
    """always: the pieces must be read if the file can be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content.encode())
        expected, (found, _) = whole(path, wanted), in_pieces(path, wanted, size)
    assert found is None or found == expected
    if always and expected is not None:
        assert found is not None


@SETTINGS
@given(st.lists(st.tuples(CELLS, CELLS), max_size=12), st.integers(1, 60), st.sampled_from([",", "\t"]), st.booleans())
def test_csv_as_programs_write_it(rows: list[tuple[str, str]], size: int, delimiter: str, quoted: bool) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows([("text", "b"), *rows])
    check("a.csv" if delimiter == "," else "a.tsv", file.getvalue(), ["b", "text"], size, always=False)


@SETTINGS
@given(FILES, st.integers(1, 60))
@example('5" disk,x\n6" disk,y\n7" disk,"a\nb"\n8" disk,z\n', 10)
@example('"a\n\n\n\n\n\n\n\n\n\nb",x\n"c",y\n', 3)
@example('x,"y', 1)
def test_csv_of_any_signs(content: str, size: int) -> None:
    check("a.csv", f"text,b\n{content}", ["text"], size, always=False)


@SETTINGS
@given(FILES, st.integers(1, 30))
def test_plain_lines(content: str, size: int) -> None:
    check("a.txt", content, ["text"], size, always=True)


@SETTINGS
@given(
    st.lists(st.sampled_from(['{"text": "a\\n"}', '{"b": "é"}', '{"text": "x"}\r', "", " ", "[]"]), max_size=15),
    st.integers(1, 60),
)
def test_json_lines(lines: list[str], size: int) -> None:
    check("a.jsonl", '{"text": "first"}\n' + "\n".join(lines), ["text"], size, always=True)


def test_line_breaks_in_quotes_do_not_keep_csv_from_being_split(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,b\n" + "".join(f'"a ""{n}""\n\nb",{n}\n' for n in range(50)))
    rows, count = in_pieces(path, ["text", "b"], 100)
    assert rows == [[f'a "{n}"\n\nb', str(n)] for n in range(50)]
    assert count > 5


def test_gzip_has_no_pieces(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(b"")
    assert pieces_of(tmp_path / "a.csv.gz", {"text": "text"}) is None
