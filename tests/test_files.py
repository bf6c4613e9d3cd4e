"""Files whole or not at all, and what a killed process leaves."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import safetensors.torch
import torch

from alloykit import files
from alloykit.errors import AlloyError
from alloykit.files import move_folder, replace_atomic, write_atomic, write_output
from alloykit.temporary.mapped_file import MappedFile


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process that has not written anywhere yet."""
    monkeypatch.setattr(files, "_cleaned", set())


def left_by(folder: Path, process: int, machine: str | None = None) -> Path:
    path = folder / f".alloykit-{machine or files._machine()}-{process}-7.tmp"
    path.write_text("half")
    return path


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is synced and renamed, in order: by the inodes of the files."""
    found = list[tuple[str, int]]()
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda file: found.append(("sync", os.fstat(file).st_ino)))
    monkeypatch.setattr(
        os, "replace", lambda old, new: (found.append(("rename", os.stat(old).st_ino)), replace(old, new))
    )
    return found


def test_every_file_is_synced_before_it_is_renamed(done: list[tuple[str, int]], tmp_path: Path) -> None:
    """Otherwise a power cut leaves an empty file of the right name."""
    replace_atomic(tmp_path / "tensors", lambda part: safetensors.torch.save_file({"a": torch.zeros(2)}, part))
    file, folder = (tmp_path / "tensors").stat().st_ino, tmp_path.stat().st_ino
    assert done == [("sync", file), ("rename", file), ("sync", folder)]
    done.clear()
    write_atomic(tmp_path / "text", "whole")
    assert [what for what, _ in done] == ["sync", "rename", "sync"], "once, because it takes long"


def test_a_folder_is_synced_before_it_is_renamed(done: list[tuple[str, int]], tmp_path: Path) -> None:
    places = [
        tmp_path / "part" / "below",
        tmp_path / "part",
        tmp_path / "part" / "a",
        tmp_path / "part" / "below" / "b",
    ]
    places[0].mkdir(parents=True)
    for file in places[2:]:
        file.write_text(file.name)
    inodes = {place.stat().st_ino for place in places}
    move_folder(tmp_path / "part", tmp_path / "whole")
    assert {inode for what, inode in done[:4]} == inodes
    assert [what for what, _ in done] == ["sync"] * 4 + ["rename", "sync"]
    assert (tmp_path / "whole" / "below" / "b").read_text() == "b"


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_who_may_read_the_folder_may_read_its_files(umask: int, tmp_path: Path) -> None:
    """safetensors lets only the owner read its files. A server in a container is often another user."""
    before = os.umask(umask)
    try:
        replace_atomic(tmp_path / "a", lambda part: safetensors.torch.save_file({"a": torch.zeros(2)}, part))
        (tmp_path / "part").mkdir()
        safetensors.torch.save_file({"b": torch.zeros(2)}, tmp_path / "part" / "b")
        move_folder(tmp_path / "part", tmp_path / "whole")
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "whole" / "b"):
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_a_killed_process_left_is_removed_at_the_next_write(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from alloykit.files import replace_atomic\n"
        "def die(part): part.write_text('half'); os.kill(os.getpid(), 9)\n"
        "replace_atomic(pathlib.Path(sys.argv[1]) / 'file', die)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60, check=False).returncode == -9
    [left] = tmp_path.iterdir()
    assert files.is_left_over(left.name)
    write_atomic(tmp_path / "file", "whole")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_of_others_only_what_is_surely_dead(tmp_path: Path) -> None:
    """A process that is alive, another machine's (whose processes cannot be asked), and a file of the user's are left alone."""
    alive, elsewhere = left_by(tmp_path, os.getppid()), left_by(tmp_path, 99, "0123abcd")
    long_ago = left_by(tmp_path, 98, "0123abcd")
    os.utime(long_ago, (time.time() - 90_000,) * 2)
    former = left_by(tmp_path, os.getpid())
    mine = tmp_path / ".alloykit-notes.tmp"
    mine.write_text("mine")
    write_atomic(tmp_path / "file", "whole")
    assert sorted(tmp_path.iterdir()) == sorted([alive, elsewhere, mine, tmp_path / "file"])
    assert not former.exists()


def test_what_this_process_is_writing_stays(tmp_path: Path) -> None:
    """Two threads write into one folder at once."""

    def meanwhile(part: Path) -> None:
        part.write_text("outer")
        write_atomic(tmp_path / "inner", "inner")

    replace_atomic(tmp_path / "outer", meanwhile)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"inner": "inner", "outer": "outer"}


def test_it_stays_where_the_folder_has_another_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TMPDIR may be the folder of the output, named otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path)
    mapped = MappedFile("the texts")
    mapped.write(b"abc")
    for name, again in (("file", False), ("link/file", False), ("file", True)):
        files._cleaned.clear()  # as another process's folder that became this one's
        write_atomic(Path(name), "whole")
        files.remove_left_over(Path(name).parent, again=again)
        assert mapped.path.read_bytes() == b"abc"
    name = mapped.path.name
    assert name in files._live
    del mapped
    assert not [left for left in os.listdir(tmp_path) if files.is_left_over(left)]
    assert name not in files._live


def test_a_folder_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomic(tmp_path / "file", "whole")
    former = left_by(tmp_path, os.getpid())
    monkeypatch.chdir(tmp_path)
    write_atomic(Path("file"), "whole")
    assert former.exists()
    files.remove_left_over(Path(), again=True)
    assert not former.exists()


def through_a_pipe(pipe: Path, text: str) -> bytes:
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_output(pipe, text)
        return os.read(reader, 100)
    finally:
        os.close(reader)


def test_an_output_that_is_a_device_or_a_pipe_stays_one(tmp_path: Path) -> None:
    assert through_a_pipe(tmp_path / "pipe", "answers") == b"answers"
    assert (tmp_path / "pipe").is_fifo()
    with (tmp_path / "file").open("w+") as file:
        file.write("earlier ")
        file.flush()
        write_output(Path(f"/proc/self/fd/{file.fileno()}"), "answers")
        file.seek(0)
        assert file.read() == "earlier answers", "what is before stays"
    (tmp_path / "null").symlink_to("/dev/null")
    write_output(tmp_path / "null", "answers")
    assert (tmp_path / "null").is_char_device()
    with pytest.raises(AlloyError, match="/dev/full"):
        write_output(Path("/dev/full"), "answers")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "null", "pipe"]
    write_output(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_what_utf8_cannot_hold_is_written_as_an_escape(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", "a path \udcff")
    assert (tmp_path / "file").read_bytes() == b"a path \\udcff"
    assert through_a_pipe(tmp_path / "pipe", "a path \udcff") == b"a path \\udcff"


def test_no_file_is_written_where_another_process_writes(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(AlloyError, match="as process 0 wrote it"), files.no_writing():
            with files.no_writing():
                pass
            write_atomic(tmp_path / "file", "other")
        assert list(tmp_path.iterdir()) == []
    write_atomic(tmp_path / "file", "whole")


def test_a_file_is_copied_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    (tmp_path / "file").write_bytes(b"whole")
    monkeypatch.setattr(os, "link", refused)
    files.link_file(tmp_path / "file", tmp_path / "a" / "b" / "file")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"whole"
