"""Rows are checked one by one: bad ones are counted, labels get their names."""

import datasets
import pytest
from sample_texts import write

from alloykit.data import load_texts
from alloykit.errors import AlloyError, AlloyWarning

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
    assert "Unusable: 6 of 8 rows" in message
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
    ("origin", "message"), [([], "got no rows"), (["", None], r"unusable were 2 of 2 rows.*empty text")]
)
def test_no_usable_text_is_an_error(origin, message):
    with pytest.raises(AlloyError, match=f"at least one usable text.*{message}"):
        load_texts(origin)


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


@pytest.mark.parametrize("value", [1, 1.0, "1", " 1 ", "1.0", "login", True])
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
        (True, None, r"names for the labels false and true.*got true in row 0.*`label_names: \[no, yes\]"),
        (2, ["a", "b"], "from 0 to 1.*got 2 in row 0"),
        (-1, ["a", "b"], "got -1 in row 0.*unlabelled split"),
        ("c", ["a", "b"], "a label among 'a', 'b'; got 'c'"),
        ("0", ["1", "2"], "a label among '1', '2'; got '0'"),
        ("0.0", ["1", "2"], "a label among '1', '2'; got '0.0'"),
        (1.5, ["a", "b"], "one label per text.*float"),
        (["a", "b"], None, "one label per text.*list"),
    ],
)
def test_wrong_labels_are_refused(value, names, message):
    with pytest.raises(AlloyError, match=message):
        load_texts([{"text": "t", "label": value}], want_labels=True, label_names=names)
