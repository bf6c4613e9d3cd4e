"""Near misses are found, lists in messages stay short, and a teacher's labels get real names."""

import subprocess
import sys

import pytest
import yaml

from alloykit.cli.listings import method_details
from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.names import (
    alike,
    as_it_looks,
    counted,
    escaped,
    is_anonymous,
    nearest_name,
    quoted,
    rename,
    short,
    unknown_name,
)


@pytest.mark.parametrize(
    ("name", "found"),
    [("tikets.csv", "Tickets.csv"), ("TICKETS.CSV", "Tickets.csv"), ("muca", "muka"), ("zzz", ""), ("", "")],
)
def test_near_finds_the_closest_name_in_any_case(name, found):
    assert nearest_name(name, ["muka", "mukbang", "Tickets.csv"]) == found
    assert nearest_name(name, []) == ""


def test_names_that_look_the_same():
    one, two = "café", "cafe\u0301"
    assert as_it_looks(two) == one == as_it_looks(one)
    assert as_it_looks("re\u200bfund\ufeff") == "refund"
    assert as_it_looks("late\u00a0fee") == "late fee"
    assert as_it_looks("\u2764\ufe0f") == "\u2764"
    assert alike(["a", one, two, "x"], [one, "a"]) == {two: one}
    for name in (one, two, "a \"b\" \\ 'c'", "\t\u200b\U0001f600"):
        assert escaped(name).isascii()
        assert yaml.safe_load(f'"{escaped(name)}"') == name
    with pytest.raises(AlloyError, match=r'got "cafe\\u0301"\. "caf\\xe9" looks the same'):
        raise unknown_name("a label", two, ["x", one])


def test_lists_of_names_are_cut():
    assert quoted(["a", 1]) == "'a', '1'"
    assert quoted([]) == quoted(None) == ""
    assert quoted(range(33)).endswith(", '29' and 3 more")
    assert quoted(range(30)).endswith(", '29'")
    assert short("x" * 40) == "x" * 40
    assert short("x" * 41) == "x" * 40 + "…"


def test_a_number_has_its_unit():
    assert [counted(n, "text") for n in (0, 1, 2, 1_234_567)] == ["0 texts", "1 text", "2 texts", "1,234,567 texts"]
    assert [counted(n, "epoch") for n in (1.0, 0.5)] == ["1 epoch", "0.5 epochs"]


@pytest.mark.parametrize("ask", [create, method_details])
def test_an_unknown_method_is_told_the_near_one(ask):
    with pytest.raises(AlloyError, match=r"got 'MUKKA'\. Did you mean 'muka'\? There are muka, "):
        ask("MUKKA")
    with pytest.raises(AlloyError, match=r"got 'zzz'\. There are muka, "):
        ask("zzz")


def test_importing_the_module_stays_cheap():
    code = "import sys, alloykit.names; print([m for m in ('torch', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("names", [["0", "1"], ["LABEL_0", "LABEL_1"], ["label_12", "bug"], ["Label 3"]])
def test_stand_ins_are_anonymous(names):
    assert is_anonymous(names)


@pytest.mark.parametrize(
    "names", [["bug", "labels"], ["4 stars", "5 stars"], ["label_x", "my_label_1"], ["mislabel_0"], []]
)
def test_real_names_are_not_anonymous(names):
    assert not is_anonymous(names)


@pytest.mark.parametrize(
    "mapping",
    [
        {"LABEL_0": "bug", "LABEL_1": " login "},
        {0: "bug", 1: "login"},
        {"1": "login", "0": "bug"},
        {"LABEL_1": "login", 0: "bug"},
    ],
)
def test_rename_takes_names_and_positions(mapping):
    assert rename(["LABEL_0", "LABEL_1"], mapping, "support") == ("bug", "login")


def test_rename_reads_a_key_that_is_a_name_as_the_name_and_may_swap():
    assert rename(["1", "two"], {"1": "bad"}, "stars") == ("bad", "two")
    assert rename(["1", "2"], {1: "bad", 2: "good"}, "stars") == ("bad", "good")
    assert rename(["a", "b"], {"a": "b", "b": "a"}, "t") == ("b", "a")
    assert rename(["a ", "b"], {}, "t") == ("a", "b")
    assert rename(["a", "a ", ""], {"1": "b", "2": "c"}, "t") == ("a", "b", "c")


@pytest.mark.parametrize(
    ("names", "mapping", "message"),
    [
        (["a", "a "], {}, "different labels within teacher 't'; got 'a' more than once. Name it by its position"),
        (
            ["a", "a "],
            {"a": "b"},
            "different labels within teacher 't'; got 'a' more than once. Name it by its position",
        ),
        (
            ["a", " "],
            {},
            "a name for every label of teacher 't'; got an empty one at position 1. Name it by its position",
        ),
    ],
)
def test_names_that_only_a_position_tells_apart(names, mapping, message):
    with pytest.raises(AlloyError, match=message):
        rename(names, mapping, "t")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"LABEL_2": "x"}, "teacher 'support'.*'LABEL_2'.*There are: 'LABEL_0', 'LABEL_1'"),
        ({"2": "x"}, "or its position; got '2'"),
        ({-1: "x"}, "got '-1'"),
        ({"LABEL_0": "bug", 0: "cat"}, "once in `labels:`; got 'LABEL_0' again"),
        ({"LABEL_0": "bug", "LABEL_1": "bug"}, "after renaming; got 'bug' more than once"),
        ({"LABEL_0": "bug", "LABEL_1": ""}, "a name for every label of teacher 'support'"),
        ({"LABEL_0": "bug", "LABEL_1": False}, "Put quotes"),
        ({True: "bug"}, "Put quotes"),
        ({}, r"real label names for teacher 'support'.*`labels: {LABEL_0: bug, LABEL_1: login}`"),
        ({"LABEL_0": "bug"}, "real label names.*'bug', 'LABEL_1'"),
    ],
)
def test_rename_refuses(mapping, message):
    with pytest.raises(AlloyError, match=message):
        rename(["LABEL_0", "LABEL_1"], mapping, "support")
