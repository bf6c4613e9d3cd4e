"""Refuse what is no UTF-8 text by its first bytes: packed files, workbooks, other encodings."""

from __future__ import annotations

import re
from typing import NamedTuple

from alloykit.errors import AlloyError

UNPACK = "Unpack it, or pack it with gzip and let its name end in .gz."
SHEET = "Unpack it, or save the sheet as “CSV UTF-8”."
STREAM = "Standard input takes one text per line, unpacked and in UTF-8. Unpack it first, or name the file in place of standard input."


class Kind(NamedTuple):
    """What begins so, and what to do with a file of that kind."""

    begin: re.Pattern[bytes]
    name: str
    hint: str


def _encoded(begin: bytes, name: str) -> Kind:
    return Kind(re.compile(re.escape(begin)), f"{name} text", _convert(name))


def _convert(encoding: str) -> str:
    return f"Save it as UTF-8, for example with `iconv -f {encoding} -t UTF-8`."


KINDS = (
    _encoded(b"\xff\xfe\0\0", "UTF-32"),
    _encoded(b"\0\0\xfe\xff", "UTF-32"),
    _encoded(b"\xff\xfe", "UTF-16"),
    _encoded(b"\xfe\xff", "UTF-16"),
    Kind(re.compile(rb"\x1f\x8b"), "a gzip file", "Let its name end in .gz."),
    Kind(re.compile(rb"\x28\xb5\x2f\xfd"), "a zstd file", UNPACK),
    Kind(re.compile(rb"BZh[1-9]1AY&SY"), "a bzip2 file", UNPACK),
    Kind(re.compile(rb"\xfd7zXZ\0"), "an xz file", UNPACK),
    Kind(re.compile(rb"PK\x03\x04"), "a zip file or a workbook of Excel", SHEET),
    Kind(re.compile(rb"\xd0\xcf\x11\xe0"), "a workbook of Excel", "Save the sheet as “CSV UTF-8”."),
    Kind(re.compile(rb"PAR1"), "a Parquet file", "Let its name end in .parquet."),
)


def refuse_other_kinds(begin: bytes, where: str, *, unpacked: bool = False, stream: bool = False) -> None:
    """AlloyError for the first bytes of what is no text, or of another encoding. unpacked: they were in a gzip file. stream: they have no file name."""
    found = next((kind for kind in KINDS if kind.begin.match(begin)), None) or _without_mark(begin)
    if found is None:
        return
    hint = found.hint
    if stream and not found.name.endswith("text"):
        hint = STREAM
    elif unpacked and found.name == "a gzip file":
        hint = "It was packed twice: unpack it once."
    raise AlloyError(expected=f"UTF-8 text {where}", got=found.name, hint=hint)


def _without_mark(begin: bytes) -> Kind | None:
    """UTF-16 without a byte-order mark: in most languages the first letters, such as the names of columns, have one byte 0 each."""
    units = len(begin := begin[:64]) // 2
    low, high = begin[0 : 2 * units : 2].count(0), begin[1 : 2 * units : 2].count(0)
    if not min(low, high) and 2 * max(low, high) > units:
        return _encoded(b"", "UTF-16LE" if high else "UTF-16BE")
    return None
