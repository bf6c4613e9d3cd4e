"""Files of a store on a local disk, behind a remote file system that keeps listings, and in an object store."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from alloykit import files
from alloykit.errors import AlloyError
from alloykit.files import no_writing
from alloykit.knowledge.store import storage
from alloykit.knowledge.store.storage import Storage


class Listed(MemoryFileSystem):
    """It knows only the files that were there when its listing was read, as s3fs does. `others` is what other processes see."""

    protocol = "listed"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    known: ClassVar[set[str]] = set()
    calls: ClassVar[list[tuple[str, str]]] = []

    def invalidate_cache(self, path: str | None = None) -> None:
        Listed.known = set(self.store)

    def _check(self, path: str) -> None:
        if path in self.store and path not in self.known:
            raise FileNotFoundError(path)

    def info(self, path: str, **more: Any) -> Any:
        self._check(path)
        return super().info(path, **more)

    def cat_file(self, path: str, *more: Any) -> Any:
        self._check(path)
        return super().cat_file(path, *more)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        odd = [{"name": f"{path}/odd", "type": "other"}]
        found = [
            entry for entry in super().ls(path, detail=True) if entry["type"] != "file" or entry["name"] in self.known
        ]
        return [entry | {"name": entry["name"] + "/" * (entry["type"] == "directory")} for entry in found[::-1]] + odd


for _name in ("pipe_file", "put_file", "mv"):

    def _noted(self: Listed, *args: Any, _name: str = _name, **more: Any) -> Any:
        Listed.calls.append((_name, args[-1] if _name in ("put_file", "mv") else args[0]))
        return getattr(MemoryFileSystem, _name)(self, *args, **more)

    setattr(Listed, _name, _noted)


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(storage, "sleep", lambda _: pytest.fail("it waits"))
    fsspec.register_implementation("listed", Listed, clobber=True)
    Listed.store.clear()
    Listed.known.clear()
    Listed.calls.clear()
    Listed.pseudo_dirs[:] = [""]
    yield
    Listed.store.clear()


@pytest.fixture(params=["local", "listed"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "k") if request.param == "local" else "listed://k"


def test_what_another_process_wrote_is_seen(place: str) -> None:
    mine, theirs = Storage(place), Storage(place)
    assert (mine.names("a"), mine.names_below("a"), mine.exists("a/z.json")) == ([], [], False)
    for look in (
        lambda: mine.exists("a/z.json"),
        lambda: mine.names("a") == ["b", "z.json"],
        lambda: mine.names_below("a") == ["s/1", "s/2", "t/1"],
        lambda: mine.read("a/z.json") == b"z",
    ):
        for name in ("z.json", "t/1", "b", "s/2", "s/1"):
            theirs.write(f"a/{name}", b"z")
        assert look()
        assert not mine.exists("a/s"), "a folder is no file"
        assert not mine.exists("a/z.json/x")
        for name in ("z.json", "t/1", "b", "s/2", "s/1"):
            theirs.remove(f"a/{name}")
        theirs.remove("a/b")  # it is not there any more
        assert not mine.exists("a/z.json")
        Listed.known.clear()


def test_the_content_of_a_file_in_pieces(place: str, tmp_path: Path) -> None:
    files, content = Storage(place), bytes(range(256)) * 3
    (tmp_path / "mine").write_bytes(content)
    files.put("a/x", tmp_path / "mine")
    files.put("a/y", tmp_path / "mine")
    pieces = list(files.pieces("a/x", 100))
    assert [len(piece) for piece in pieces] == [100] * 7 + [68]
    assert b"".join(pieces) == content
    assert files.names("a") == ["x", "y"]
    with pytest.raises(AlloyError, match="a/gone"):
        list(files.pieces("a/gone", 100))


def test_only_the_first_process_writes(place: str, tmp_path: Path) -> None:
    files = Storage(place)
    (tmp_path / "mine").write_bytes(b"2")
    files.write("a", b"1")
    with no_writing():
        for do in (
            lambda: files.write("a", b"2"),
            lambda: files.put("a", tmp_path / "mine"),
            lambda: files.remove("a"),
        ):
            with pytest.raises(AlloyError, match="as process 0 wrote it"):
                do()
    assert files.read("a") == b"1"


def test_a_device_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/dev/null")
    for read in (lambda: Storage(tmp_path).read("x"), lambda: list(Storage(tmp_path).pieces("x", 10))):
        with pytest.raises(AlloyError, match="got a pipe or a device"):
            read()


def test_the_root_of_a_file_system() -> None:
    assert Storage("memory://").path("a") == "/a"
    assert Storage("/").path("a") == "/a"


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some workers have another working folder."""
    monkeypatch.chdir(tmp_path)
    store = Storage("k")
    monkeypatch.chdir("/")
    store.write("a", b"1")
    assert (tmp_path / "k" / "a").read_bytes() == b"1"


def test_a_url_without_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> None:
        raise ImportError("Install s3fs")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(AlloyError, match=r"the package that reaches s3://b; got 'Install s3fs'.*alloykit\[s3\]"):
        Storage("s3://b")


def test_a_remote_file_appears_under_its_name_when_it_is_whole(tmp_path: Path) -> None:
    files = Storage("listed://k")
    (tmp_path / "mine").write_bytes(b"1")
    for _ in range(2):
        files.put("a", tmp_path / "mine")
    files.write("b", b"1")
    kinds, names = zip(*Listed.calls, strict=True)
    assert kinds == ("put_file", "mv", "put_file", "mv", "pipe_file", "mv")
    assert names[1::2] == ("listed://k/a", "listed://k/a", "listed://k/b")
    assert all(".tmp-" in name for name in names[::2])
    assert names[0] != names[2], "two machines write to files of their own"
    assert sorted(Listed.store) == ["listed://k/a", "listed://k/b"]


def test_an_object_store_needs_no_temporary_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Listed, "protocol", ("gs", "listed"))
    (tmp_path / "mine").write_bytes(b"1")
    files = Storage("listed://k")
    files.write("a", b"1")
    files.put("b", tmp_path / "mine")
    assert Listed.calls == [("pipe_file", "listed://k/a"), ("put_file", "listed://k/b")]


def test_another_process_moves_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both write the same bytes under the same temporary name. If nothing is there afterwards, this is an error."""
    files, move = Storage("listed://k"), Listed.mv

    def moved(self: Listed, source: str, target: str) -> None:
        move(self, source, target)
        move(self, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(Listed, "mv", moved)
        files.write("a", b"1")
    assert files.read("a") == b"1"

    def removed(self: Listed, source: str, target: str) -> None:
        raise FileNotFoundError(source)

    monkeypatch.setattr(Listed, "mv", removed)
    with pytest.raises(AlloyError, match="got 'listed://k/b'"):
        files.write("b", b"1")


def test_files_that_a_killed_process_left_are_removed_here_only(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=60)

    def leave() -> list[Path]:
        left = [
            folder / f".alloykit-{files._machine()}-{gone.pid}-1.tmp" for folder in (tmp_path / "a", tmp_path / "a/5")
        ]
        for path in left:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return left

    for _ in range(2):
        left = leave()
        Storage(tmp_path).remove_left_over("a")
        assert not any(path.exists() for path in left)
    left = leave()
    Storage(f"memory://{tmp_path}").remove_left_over("a")  # of the same name
    assert all(path.exists() for path in left)
    Storage(tmp_path).remove_left_over("b")


def failing(error: Exception, times: int) -> Callable[[], int]:
    """A function that fails so many times."""
    left = [times]

    def do() -> int:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return 7

    return do


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the program waits each time. No time passes."""
    found = list[float]()
    monkeypatch.setattr(storage, "monotonic", lambda: 1.0 + sum(found))
    monkeypatch.setattr(storage, "sleep", found.append)
    return found


def test_it_is_asked_again_more_and_more_seldom(waits: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    assert Storage("listed://k")._reached("a", failing(ConnectionError("no route\nto host"), 6)) == 7
    assert waits == [1, 2, 4, 5, 5, 5]
    assert capsys.readouterr().err.count("listed://k cannot be reached ('no route'); trying again for 10 minutes") == 1
    assert Storage("listed://k")._reached("a", failing(ConnectionError(), 1)) == 7
    assert "('ConnectionError')" in capsys.readouterr().err, "an error without a text"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "room to write"),
        (OSError(errno.EROFS, "Read-only file system"), "mounted read-only"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission to use"),
    ],
)
def test_what_waiting_does_not_mend_is_an_error_at_once(error: Exception, words: str, waits: list[float]) -> None:
    with pytest.raises(AlloyError, match=words):
        Storage("listed://k")._reached("a", failing(error, 99))
    assert not waits


def test_an_interrupt_ends_the_waiting(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "raise_noted", failing(KeyboardInterrupt(), 1))  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        Storage("listed://k")._reached("a", failing(ConnectionError("no route"), 99))
    assert waits == [1]
