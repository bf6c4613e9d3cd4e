"""Seeded damage: to values inside JSON-like data, to the bytes of a file, and to what lies in a file's place."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "0": 0,
    "-1": -1,
    "10**30": 10**30,
    "1e308": 1e308,
    "0.5": 0.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "an empty text": "",
    "a text": "x",
    "a blank": " ",
    "a NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "20,000 characters": "x" * 20_000,
    "two lines": "a\nb",
    "an escape sequence": "\x1b[31mred\x1b]0;title\x07",
    "an image in HTML": "<img src=x onerror=alert(1)>",
    "a script": "</script><script>alert(1)</script>",
    "a number as text": "12",
    "a path": "/etc/passwd",
    "a path upwards": "../../..",
    "an absent path": "nowhere/at/all",
    "an empty list": [],
    "a list": [1, "x", None],
    "a list of lists": [[1], [2, 3]],
    "an empty mapping": {},
    "a mapping": {"a": 1},
    "a mapping of mappings": {"0": {"1": {"2": []}}},
    "a date as text": "2001-13-45",
    "a long list": list(range(3000)),
}


def deep(depth: int = 900) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value inside, the whole itself first; of long lists only the first places."""
    found = [here]
    if isinstance(value, dict):
        for key in value:
            found += paths(value[key], (*here, key))
    elif isinstance(value, list):
        for n, item in enumerate(value[:4]):
            found += paths(item, (*here, n))
    return found


def spoil_value(value: Any, draw: random.Random, values: dict[str, Any] | None = None) -> tuple[Any, str]:
    """A copy with one value replaced, removed, renamed or moved, and what was done."""
    value = copy.deepcopy(value)
    places = paths(value)
    whole = draw.random() < 0.04 or len(places) == 1
    path = () if whole else draw.choice(places[1:])
    shown = ".".join(map(str, path))[:60] or "the whole"
    how = draw.choices(("replaced", "removed", "renamed", "wrapped", "copied", "deep"), (70, 10, 5, 5, 7, 3))[0]
    name, new = draw.choice(sorted((values or VALUES).items()))
    if whole or how == "replaced":
        return put(value, path, copy.deepcopy(new)), f"{shown} is {name}"
    *front, last = path
    parent = get(value, tuple(front))
    if how == "removed":
        del parent[last]
    elif how == "renamed" and isinstance(parent, dict):
        parent[draw.choice(["x", "", "0", "a\0b", f"{last}s", "\x1b[31m"])] = parent.pop(last)
    elif how == "wrapped":
        parent[last] = draw.choice([[parent[last]], {"x": parent[last]}])
    elif how == "copied":
        other = draw.choice(places)
        parent[last] = copy.deepcopy(get(value, other))
        return value, f"{shown} is a copy of {'.'.join(map(str, other))[:60] or 'the whole'}"
    else:
        parent[last] = deep()
        how = "nested 900 deep"
    return value, f"{shown} is {how}"


def get(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    get(value, path[:-1])[path[-1]] = new
    return value


def spoil_json(path: Path, draw: random.Random) -> str:
    """Damage one value of a JSON file."""
    value, how = spoil_value(json.loads(path.read_text(encoding="utf-8")), draw)
    path.write_text(json.dumps(value), encoding="utf-8")
    return f"{path.name}: {how}"


def is_plain(path: Path) -> bool:
    """Whether it is still a file of the case: an earlier damage may have put a pipe or a link to /dev/zero there."""
    return path.is_file() and not path.is_symlink()


def spoil_bytes(path: Path, draw: random.Random) -> str:
    """Damage the bytes of a file."""
    if not is_plain(path):
        return f"{path.name}: (no file any more)"
    data = path.read_bytes()
    how = draw.choice(sorted(BYTES))
    path.write_bytes(BYTES[how](data, draw))
    return f"{path.name}: {how}"


def _flipped(data: bytes, draw: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(draw.choice((1, 4, 30))):
        if found:
            found[draw.randrange(len(found))] = draw.randrange(256)
    return bytes(found)


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _without_some(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + data[at + draw.randrange(1, 40) :]


def _with_some(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    piece = draw.choice(
        (b"\xff\xfe", b"\0", b'"', b"{", b"]", b"\n\n", b"\xc3", b"\xed\xa0\x80", b"\x1b[2J", b"9" * 400, b"\r")
    )
    return data[:at] + piece + data[at:]


BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "empty": lambda data, draw: b"",
    "cut": _cut,
    "some bytes changed": _flipped,
    "some bytes removed": _without_some,
    "some bytes more": _with_some,
    "random bytes": lambda data, draw: draw.randbytes(400),
    "twice": lambda data, draw: data + data,
    "a byte-order mark": lambda data, draw: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data, draw: data.decode(errors="replace").encode("utf-16"),
    "not UTF-8": lambda data, draw: b"\xff\xfe\xfa" + data,
    "zeros": lambda data, draw: bytes(len(data)),
    "100,000 brackets": lambda data, draw: b"[" * 100_000,
    "JSON null": lambda data, draw: b"null",
    "a JSON list": lambda data, draw: b"[1, 2]",
    "a JSON text": lambda data, draw: b'"x"',
    "a JSON number of 5,000 digits": lambda data, draw: b"1" * 5_000,
}


def spoil_place(path: Path, draw: random.Random, besides: str = "") -> str:
    """Put something else than a file where a file was; anything but `besides`."""
    how = draw.choice(sorted(PLACES.keys() - {besides}))
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    PLACES[how](path)
    return f"{path.name}: {how}"


def _folder_with(path: Path) -> None:
    path.mkdir()
    (path / "x").write_text("x")


PLACES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "an empty folder": lambda path: path.mkdir(),
    "a folder": _folder_with,
    "a link to nothing": lambda path: os.symlink("nowhere", path),
    "a link to itself": lambda path: os.symlink(path.name, path),
    "a link to /dev/null": lambda path: os.symlink("/dev/null", path),
    "a link to a folder": lambda path: os.symlink("/etc", path),
    "a link to /etc/passwd": lambda path: os.symlink("/etc/passwd", path),
    "a pipe": lambda path: os.mkfifo(path),
    "a link to /dev/zero": lambda path: os.symlink("/dev/zero", path),
}


def spoil_file(path: Path, draw: random.Random) -> str:
    """Any damage that fits the file."""
    kind = draw.random()
    if path.suffix == ".json" and kind < 0.6 and is_plain(path):
        return spoil_json(path, draw)
    return spoil_bytes(path, draw) if kind < 0.85 else spoil_place(path, draw)
