"""What is said when a file cannot be written or read."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from alloykit.errors import AlloyError
from alloykit.file_errors import check_readable, file_errors, os_error, scratch
from alloykit.files import write_atomic
from alloykit.json_files import read_json
from alloykit.knowledge.store.artifacts import recorded
from alloykit.knowledge.store.storage import Storage

FULL = (errno.ENOSPC, errno.EDQUOT)


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_space_is_asked_for_only_where_there_is_none(number: int) -> None:
    error = os_error(OSError(number, os.strerror(number)), "/there/file")
    assert os.strerror(number) in error.got
    assert ("free some space" in str(error).lower()) == (number in FULL)
    assert "/there" in error.expected


def test_the_number_is_found_in_what_rust_says(tmp_path: Path) -> None:
    """safetensors and tokenizers raise errors of their own, with the number in the text."""
    with pytest.raises(AlloyError, match="A folder is in the way"), file_errors(tmp_path):
        safetensors.torch.save_file({"a": torch.zeros(2)}, tmp_path)
    with pytest.raises(AlloyError, match="Free some space"), file_errors(tmp_path):
        raise Exception("No space left on device (os error 28)")
    with pytest.raises(ZeroDivisionError), file_errors(tmp_path):
        raise ZeroDivisionError


@pytest.mark.parametrize(("free", "words"), [(1 << 30, "to write or read"), (4096, "Free some space")])
def test_torch_says_not_why(free: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = os.statvfs(tmp_path)
    fields = {name: getattr(room, name) for name in ("f_frsize", "f_files", "f_favail")}
    now = type("Room", (), fields | {"f_bavail": free // room.f_frsize})
    monkeypatch.setattr(os, "statvfs", lambda _: now)
    error = os_error(RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0"), tmp_path)
    assert words in str(error)
    assert "unexpected pos" in error.got or free < 1 << 20


def folder_in_the_way(place: Path) -> Path:
    (place / "file" / "below").mkdir(parents=True)
    return place / "file"


def file_instead_of_a_folder(place: Path) -> Path:
    (place / "folder").write_text("mine")
    return place / "folder" / "file"


def broken_link(place: Path) -> Path:
    (place / "folder").symlink_to(place / "nowhere")
    return place / "folder" / "file"


def circle(place: Path) -> Path:
    (place / "folder").symlink_to(place / "folder")
    return place / "folder" / "file"


def long_name(place: Path) -> Path:
    return place / ("n" * 300)


WAYS = {
    folder_in_the_way: "A folder is in the way",
    file_instead_of_a_folder: "A file .*is in the way",
    broken_link: "broken",
    circle: "link",
    long_name: "shorter name",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_in_the_way_is_named(way: Any, tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match=WAYS[way]) as caught:
        write_atomic(way(tmp_path), "text")
    assert "space" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_folder_that_is_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match="A folder is in the way"):
        read_json(tmp_path)


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_a_pipe_or_a_device_is_not_read(kind: str, tmp_path: Path) -> None:
    """A pipe without a writer would be read for ever."""
    path = tmp_path / "inputs.json"
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    store = Storage(tmp_path)
    for read in (
        read_json,
        recorded,
        check_readable,
        lambda p: store.read(p.name),
        lambda p: list(store.pieces(p.name, 9)),
    ):
        with pytest.raises(AlloyError, match="got a pipe or a device"):
            read(path)


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with pytest.raises(AlloyError, match=r"temporary files.*for the texts.*No usable.*TMPDIR"), scratch("the texts"):
        pass
