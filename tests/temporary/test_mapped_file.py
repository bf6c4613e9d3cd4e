"""Temporary files: read anywhere, gone at the end, and no burden on memory or on a full disk."""

from __future__ import annotations

import os
import pickle
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from alloykit.errors import AlloyError
from alloykit.temporary import mapped_file
from alloykit.temporary.mapped_file import MappedFile
from alloykit.temporary.row_file import RowFile


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, also of processes that the test starts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_rows_are_read_as_they_were_written() -> None:
    rng, rows = np.random.default_rng(0), RowFile("numbers")
    written = rng.normal(size=(50, 3)).astype(np.float16)
    assert [rows.append(written[:20]), rows.append(written[:0]), rows.append(written[20:])] == [0, 20, 20]
    assert len(rows) == 50
    places = rng.integers(0, 50, 200)
    np.testing.assert_array_equal(rows.read(places), written[places])
    np.testing.assert_array_equal(rows.between(7, 31), written[7:31])
    rows.append(written[:1, ::-1])  # not as it lies in memory
    np.testing.assert_array_equal(rows.read(np.array([50])), written[:1, ::-1])
    for wrong in (written.astype(np.float32), written[:, :2]):
        with pytest.raises(ValueError, match="expected rows of float16"):
            rows.append(wrong)


def test_what_was_read_is_a_copy() -> None:
    rows = RowFile("numbers")
    rows.append(np.arange(4))
    for found in (rows.read(np.array([1])), rows.between(1, 2)):
        found[0] = 9
    assert rows.between(0, 4).tolist() == [0, 1, 2, 3]


def test_rows_that_are_near_each_other_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies between rows that are far from each other is not read. A read may give less than it was asked for."""
    rows, real, sizes = RowFile("numbers"), os.preadv, list[int]()
    rows.append(np.arange(100_000))

    def counted(file: int, buffers: list[memoryview], at: int) -> int:
        sizes.append(len(buffers[0]))
        return real(file, [buffers[0][:900]], at)

    monkeypatch.setattr("os.preadv", counted)
    assert rows.read(np.array([99_999, 1, 200, 3, 99_990])).tolist() == [99_999, 1, 200, 3, 99_990]
    assert sizes == [8 * 200, 8 * 200 - 900, 8 * 10]


@pytest.mark.parametrize("size", [0, 20])
def test_a_file_that_was_cut_is_an_error(size: int) -> None:
    rows = RowFile("numbers")
    rows.append(np.arange(4))
    os.truncate(rows.file.path, size)
    for read in (lambda: rows.read(np.array([0, 2])), lambda: rows.between(0, 3)):
        with pytest.raises(AlloyError, match=f"numbers in .*the file ends at byte {size}, before byte 24"):
            read()


def test_no_rows() -> None:
    rows = RowFile("numbers")
    assert len(rows) == 0
    assert rows.read(np.empty(0, np.int64)).shape == (0, 0)


def test_a_pickled_one_reads_the_same_file_and_does_not_remove_it(folder: Path) -> None:
    rows = RowFile("numbers")
    rows.append(np.arange(1000))
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "texts are nobody else's"
    sent = pickle.dumps(rows)
    assert len(sent) < 1000, "a path, not the rows"
    copy = pickle.loads(sent)
    assert copy.between(500, 502).tolist() == [500, 501]
    del copy
    assert rows.between(0, 1).tolist() == [0]
    del rows
    assert not list(folder.iterdir())
    with pytest.raises(AlloyError, match="the numbers|numbers in"):
        pickle.loads(sent).between(0, 1)


MAKES = """
import os, sys
import numpy as np
from alloykit.temporary.row_file import RowFile
rows = RowFile("numbers")
rows.append(np.arange(9))
"""
FORKS = """
child = os.fork()
if not child:
    del rows
    os._exit(0)
os.waitpid(child, 0)
assert rows.file.path.exists() and rows.between(8, 9).tolist() == [8]
"""
IS_KILLED = "os.kill(os.getpid(), 9)"


def test_it_goes_with_the_process_and_after_a_kill_at_the_next_start(folder: Path) -> None:
    def run(code: str) -> int:
        return subprocess.run([sys.executable, "-c", MAKES + code], check=False).returncode

    assert run(FORKS) == 0
    assert not list(folder.iterdir())
    assert run(IS_KILLED) == -signal.SIGKILL
    [left] = folder.iterdir()
    mine = MappedFile("numbers")
    assert not left.exists()
    assert list(folder.iterdir()) == [mine.path]


def test_a_file_of_the_same_name_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the file that a link of this name leads to."""
    (folder / "mine").write_text("mine")
    (folder / "link").symlink_to(folder / "mine")
    for name in ("mine", "link"):
        monkeypatch.setattr(mapped_file, "temporary_path", lambda place, name=name: place / name)
        with pytest.raises(AlloyError, match="File exists"):
            MappedFile("numbers")
    assert (folder / "mine").read_text() == "mine"


def test_a_file_that_cannot_be_removed_is_no_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    file = MappedFile("numbers")
    file.path.unlink()
    file.path.mkdir()
    del file
    assert not said


def test_a_write_that_takes_a_part_goes_on_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, real = RowFile("numbers"), os.pwrite
    monkeypatch.setattr("os.pwrite", lambda file, data, at: real(file, data[:5], at))
    assert [rows.append(np.arange(4)), rows.append(np.arange(4, 7))] == [0, 4]
    assert rows.between(0, 7).tolist() == [*range(7)]


@pytest.mark.parametrize("fault", ["full", "short"])
def test_a_full_disk_is_a_clear_message_and_loses_nothing(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, real, calls = RowFile("numbers"), os.pwrite, list[int]()
    rows.append(np.arange(5))

    def full(file: int, data: memoryview, at: int) -> int:
        calls.append(at)
        if fault == "short" and len(calls) == 1:
            return real(file, data[:4], at)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", full)
        with pytest.raises(AlloyError, match=r"room to write numbers in .*No space left.*TMPDIR"):
            rows.append(np.arange(5, 9))
    assert len(calls) == (2 if fault == "short" else 1)
    assert rows.between(0, 5).tolist() == [0, 1, 2, 3, 4]
    assert rows.append(np.arange(5, 9)) == 5
    assert rows.read(np.array([8, 4, 5])).tolist() == [8, 4, 5]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much of a file is mapped")
def test_memory_does_not_grow_with_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def mapped() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("RssFile")).split()[1]) / 1024

    rows = RowFile("numbers")
    for _ in range(8):
        rows.append(np.zeros((1024, 1024), np.float32))
    before, most = mapped(), dict.fromkeys(("read", "between", "mapped"), 0.0)
    monkeypatch.setattr(mapped_file, "MAPPED", 1 << 22)
    for how in most:
        for start in range(0, len(rows), 64):
            if how == "read":
                rows.read(np.arange(start, start + 64))
            elif how == "between":
                rows.between(start, start + 64)
            else:
                bytes(rows.file.mapped(1)[4096 * start : 4096 * (start + 64)])
            most[how] = max(most[how], mapped() - before)
    assert max(most.values()) < 10, "of 32 MB"


def test_a_file_that_has_grown_is_mapped_to_its_end() -> None:
    file = MappedFile("numbers")
    assert file.mapped(1) == b""
    for written in (b"one", b" two"):
        file.write(written)
    assert file.mapped(1)[:] == b"one two"
    file.write(b" three")
    assert file.mapped(1)[:] == b"one two three"
