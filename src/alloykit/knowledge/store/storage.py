"""Files of the store behind any fsspec path. Local ones are replaced atomically; a remote file system that cannot be reached is asked again."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import fsspec

from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors, refuse_streams
from alloykit.files import check_writing, remove_left_over, replace_atomic, write_atomic
from alloykit.interrupts import raise_noted
from alloykit.progress import log_line

T = TypeVar("T")
PATIENCE = 600.0  # seconds for which a remote file system may be out of reach
LONGEST = 5.0  # seconds between two attempts
LASTING = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    NotImplementedError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    MemoryError,
)  # errors that do not go away; clients of remote file systems have dozens of types for the others
OBJECT_STORES = {"s3", "gs", "gcs", "abfs", "az"}  # fsspec's names; a file is there only when all of it has arrived
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Storage:
    """A folder: on a local disk, or anything that fsspec opens (`s3://…`, `memory://…`). AlloyError if a file cannot be read or written, or without
    the package for its URL."""

    def __init__(self, url: str | Path) -> None:
        self.url = str(url)
        try:
            if "://" in self.url:
                self.fs, self.root = fsspec.core.url_to_fs(self.url)
            else:  # fsspec would take "::" in the name of a local folder for a chain of file systems
                self.fs, self.root = fsspec.filesystem("file"), os.path.abspath(self.url)
        except ImportError as error:
            raise AlloyError(
                expected=f"the package that reaches {self.url}",
                got=f"'{error}'",
                hint="For s3://…: pip install 'alloykit[s3]'.",
            ) from error
        except Exception as error:  # a file system that nobody knows, or one that needs more than this URL
            raise AlloyError(
                expected="a folder for the outputs, or a URL that fsspec can open",
                got=f"'{self.url[:200]}' ({str(error).strip()[:200] or type(error).__name__})",
                hint="For instance `--cache outputs` or `--cache s3://bucket/outputs`.",
            ) from error
        names = {self.fs.protocol} if isinstance(self.fs.protocol, str) else set(self.fs.protocol)
        self.is_local = "file" in names
        self._is_object_store = bool(names & OBJECT_STORES)

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

        def look() -> bool:
            self.fs.invalidate_cache(self.path(name))  # other processes write there too
            try:  # fsspec's own `isfile` takes any error for a no
                return bool(self.fs.info(self.path(name))["type"] == "file")
            except (FileNotFoundError, NotADirectoryError):
                return False

        return self._reached(name, look)

    def read(self, name: str) -> bytes:
        def fetch() -> bytes:
            if self.is_local:
                refuse_streams(Path(self.path(name)))
            self.fs.invalidate_cache(self.path(name))  # s3fs takes a file that no listing had for missing
            return bytes(self.fs.cat_file(self.path(name)))

        return self._reached(name, fetch)

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """The content of a file, `size` bytes after another."""
        if self.is_local:
            with file_errors(self.path(name)):
                refuse_streams(Path(self.path(name)))
                with open(self.path(name), "rb") as file:
                    while piece := file.read(size):
                        yield piece
            return

        def measure() -> int:
            self.fs.invalidate_cache(self.path(name))  # as in `read`
            return int(self.fs.info(self.path(name))["size"])

        total = self._reached(name, measure)
        for start in range(0, total, size):
            end = min(start + size, total)
            yield self._reached(name, lambda s=start, e=end: bytes(self.fs.cat_file(self.path(name), s, e)))  # type: ignore[misc]

    def names(self, folder: str) -> list[str]:
        """Names of the files in a folder, sorted; none if there is no such folder."""
        return [name for name, is_folder in self._entries(folder) if not is_folder]

    def names_below(self, folder: str) -> list[str]:
        """Names of the files in the folders of a folder, such as "a/b.json", sorted."""
        inside = [name for name, is_folder in self._entries(folder) if is_folder]
        return [f"{place}/{name}" for place in inside for name in self.names(f"{folder}/{place}")]

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """Names, and whether each is a folder."""
        where = self.path(folder)

        def scan() -> list[tuple[str, bool]]:
            with suppress(FileNotFoundError), os.scandir(where) as entries:
                return sorted((entry.name, entry.is_dir()) for entry in entries)
            return []

        def look() -> list[tuple[str, bool]]:
            self.fs.invalidate_cache(where)  # other processes write there too
            try:
                found = self.fs.ls(where, detail=True)
            except FileNotFoundError:
                return []
            entries = ((str(entry["name"]).rstrip("/").rsplit("/", 1)[-1], entry["type"]) for entry in found)
            return sorted((name, kind == "directory") for name, kind in entries if kind in ("file", "directory"))

        return self._reached(folder, scan if self.is_local else look)

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically: under another name, then renamed. An object store shows a file only when it is complete."""
        if self.is_local:
            write_atomic(Path(self.path(name)), data)
            return
        check_writing(self.path(name))
        temporary = self.path(f"{name}.tmp-{hashlib.sha256(data).hexdigest()[:8]}")

        def put() -> None:
            if self._is_object_store:
                self.fs.pipe_file(self.path(name), data)
                return
            self.fs.makedirs(self.path(name).rsplit("/", 1)[0], exist_ok=True)
            self.fs.pipe_file(temporary, data)
            try:
                self.fs.mv(temporary, self.path(name))
            except FileNotFoundError:  # another process that writes the same bytes has moved it
                self.fs.invalidate_cache(self.path(name))
                self.fs.info(self.path(name))

        self._reached(name, put)

    def put(self, name: str, file: Path) -> None:
        """Write the content of a local file, atomically."""
        target = self.path(name)
        if self.is_local:
            replace_atomic(Path(target), lambda part: shutil.copyfile(file, part))
            return
        check_writing(target)
        temporary = f"{target}.tmp-{uuid.uuid4().hex[:8]}"  # another machine may have this process id

        def put() -> None:
            if self._is_object_store:
                self.fs.put_file(str(file), target)
                return
            self.fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
            self.fs.put_file(str(file), temporary)
            self.fs.mv(temporary, target)

        self._reached(name, put)

    def remove_left_over(self, folder: str) -> None:
        """Remove temporary files of processes that have ended, in a folder of a local disk and in its folders."""
        place = Path(self.path(folder))
        if self.is_local and place.is_dir():
            with file_errors(place):
                for each in (place, *(entry for entry in place.iterdir() if entry.is_dir())):
                    remove_left_over(each, again=True)

    def remove(self, name: str) -> None:
        """Remove a file. One that is not there is no error."""

        def remove() -> None:
            with suppress(FileNotFoundError):
                self.fs.rm_file(self.path(name))

        check_writing(self.path(name))
        self._reached(name, remove)

    def _reached(self, name: str, do: Callable[[], T]) -> T:
        """do(). If a remote file system cannot be reached: again until it succeeds, for `PATIENCE` seconds. AlloyError."""
        with file_errors(self.path(name)):
            if self.is_local:
                return do()
            end, wait = 0.0, 0.5
            while True:
                try:
                    return do()
                except Exception as error:
                    if isinstance(error, LASTING) or getattr(error, "errno", None) in FULL:
                        raise
                    reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
                    if not end:
                        end = monotonic() + PATIENCE
                        log_line(
                            f"{self.url} cannot be reached ('{reason}'); trying again for {PATIENCE / 60:.0f} minutes"
                        )
                    elif monotonic() > end:
                        raise OSError(reason) from error
                wait = min(2 * wait, LONGEST)
                sleep(wait)
                raise_noted()
