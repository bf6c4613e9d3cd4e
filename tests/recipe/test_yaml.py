"""YAML that a stranger may have written: plain values, or one message that says where it is wrong."""

from __future__ import annotations

import time

import pytest
import yaml

from alloykit.errors import AlloyError
from alloykit.yaml_files import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse_yaml, read_yaml


def laughs(levels: int = 9, wide: int = 9) -> str:
    """Nine lists of nine lists of …: a few hundred characters that stand for 9⁹ values."""
    words = ["k0: &a0 [x, x, x, x, x, x, x, x, x]"]
    words += [f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * wide)}]" for n in range(1, levels)]
    return "{" + ", ".join(words) + "}"


def test_plain_values_are_read() -> None:
    text = "a: [1, 2.5, true, null, x]\nb: {c: 'y', d: &same [z]}\ne: *same\nf: {<<: {g: 1, h: 2}, h: 3}\n"
    assert parse_yaml(text, "here") == {
        "a": [1, 2.5, True, None, "x"], "b": {"c": "y", "d": ["z"]}, "e": ["z"], "f": {"g": 1, "h": 3},
    }  # fmt: skip
    assert parse_yaml("", "here") is None


@pytest.mark.parametrize("text", ["2024-12-05", "2024-13-45", "2024-13-45 99:99:99"])
def test_what_looks_like_a_date_is_a_string(text: str) -> None:
    assert parse_yaml(text, "here") == text
    assert parse_yaml(yaml.safe_dump({"label": text}), "here") == {"label": text}


REFUSED = {
    "aliases of aliases": (laughs(), "20,000 values"),
    "aliases at a key": (f"labels:\n  aliases: {laughs()}", "20,000 values.*line 2"),
    "an alias many times": ("a: &a [" + "x, " * 3000 + "x]\nb: {" + ", ".join(f"k{n}: *a" for n in range(20)) + "}", "values"),
    "an alias of itself": ("a: &a [x, *a]", "part of itself.*line 1"),
    "an alias of its mapping": ("&a {x: {y: *a}}", "part of itself"),
    "an unknown alias": ("a: *b", "undefined alias"),
    "many lists": ("a: " + "[" * 3000, f"{MAX_DEPTH} levels"),
    "many mappings": ("{a: " * 3000 + "1" + "}" * 3000, f"{MAX_DEPTH} levels"),
    "many block lists": ("- " * 3000 + "x", f"{MAX_DEPTH} levels"),
    "no integer": ('a: !!int "x"', "'x', which cannot be read as int in line 1"),
    "an empty integer": ('a: !!int ""', "'', which cannot be read as int"),
    "no float": ('a: !!float "x"', "cannot be read as float"),
    "no bool": ('a: !!bool "x"', "cannot be read as bool"),
    "a date by tag": ('a: !!timestamp "x"', "tag.*timestamp"),
    "bytes": ('a: !!binary "é"', "tag.*binary"),
    "a set": ("a: !!set {b, c}", "tag.*set"),
    "pairs": ("a: !!pairs [b: c]", "tag.*pairs"),
    "an object of Python": ('a: !!python/object/apply:os.system ["true"]', "tag.*python/object"),
    "a tag of one's own": ("a: !mine b", "tag '!mine'"),
    "a list as integer": ("a: !!int [1]", "expected a scalar node"),
    "a mapping as list": ("a: !!seq {b: c}", "expected a sequence node"),
    "an escape beyond Unicode": ('a: "\\UFFFFFFFF"', "does not exist in line 1, column 7"),
    "an escape just beyond Unicode": ('a: "\\U00110000"', "does not exist in line 1"),
    "half a surrogate pair": ('a: "\\ud800"', "surrogate.*line 1"),
    "half a surrogate pair as key": ('"\\ud800": a', "surrogate"),
    "a NUL character": ('a: "b\\0c"', "NUL"),
    "an unprintable character": ("a: \x01", "special characters"),
    "a key twice": ("a: 1\nb: 2\na: 3", "the key 'a' a second time in line 3, column 1"),
    "a key twice inside": ("a: {b: {c: 1, c: 1}}", "the key 'c' a second time"),
    "a list as key": ("? [a]\n: b", "unhashable"),
    "5,000 digits": ("a: 1" + "0" * 5000, "a number of 5,001 characters"),
    "9,000 hexadecimal digits": ("a: 0x" + "f" * 9000, "a number of 9,002 characters"),
    "sixties": ("a: 1" + ":59" * 9000, "a number of"),
    "two documents": ("a: 1\n---\nb: 2", "another document"),
    "a very long file": ("a: " + "x" * MAX_BYTES, "1,000,000 characters"),
    "many values": ("[" + "a, " * (MAX_VALUES + 1) + "]", "20,000 values"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_value_is_refused(name: str) -> None:
    text, message = REFUSED[name]
    begun = time.perf_counter()
    with pytest.raises(AlloyError, match=message) as refused:
        parse_yaml(text, "here")
    assert time.perf_counter() - begun < 20
    assert "YAML in here" in str(refused.value)
    assert len(str(refused.value)) < 400


def test_files(tmp_path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(path) == {"a": 1}
    path.write_bytes(b"a: \xe9\n")
    with pytest.raises(AlloyError, match="UTF-8 text in .*a.yaml; got the byte 0xe9"):
        read_yaml(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(AlloyError, match="1,000,000 bytes"):
        read_yaml(path)
    with pytest.raises(AlloyError, match="readable file"):
        read_yaml(tmp_path)
