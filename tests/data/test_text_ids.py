"""Ids and fingerprints: stores on disk are keyed by them."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.data import load_texts, text_id
from alloykit.errors import AlloyError

quick = settings(max_examples=60, deadline=None, derandomize=True)
# Surrogates have no UTF-8 form, so they have no id.
unicode_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


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
