"""A temporary file that is written once, from front to back, and read through a memory map."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from alloykit.file_errors import scratch
from alloykit.files import remove_temporary, temporary_path

AROUND = 1 << 20  # bytes that Linux maps at most around a byte that is read
MAPPED = 1 << 23  # bytes that may be mapped before they are given back


class MappedFile:
    """The file lies in the folder for temporary files (TMPDIR). A pickled one opens the same file, in any process.

    The process that makes it removes it, at the latest when that process ends. If it was killed, the next process that makes a
    `MappedFile` removes it.
    """

    def __init__(self, what: str) -> None:
        """what: the content, for messages. AlloyError where no file can be made."""
        self.what, self.size = what, 0
        with scratch(what):
            self.path = temporary_path(Path(tempfile.gettempdir()))
            file = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "r+b")
        self._file: FileIO | None = file
        self._map: mmap.mmap | bytes = b""
        self._touched = 0
        weakref.finalize(self, _remove, file, self.path, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        return {"what": self.what, "size": self.size, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _file=None, _map=b"", _touched=0)

    def write(self, data: Any) -> int:
        """Append bytes, an array or an Arrow buffer, and return where it begins. AlloyError where the disk is full: what was written before
        can still be read."""
        assert self._file is not None
        assert self._file.writable(), "a copy in another process only reads"
        if not memoryview(data).nbytes:
            return self.size
        view, done = memoryview(data).cast("B"), 0
        with scratch(self.what):
            while done < len(view):
                done += os.pwrite(self._file.fileno(), view[done:], self.size + done)
        self.size += done
        return self.size - done

    def opened(self) -> int:
        """The file's descriptor, to read from. AlloyError where the file is gone."""
        if self._file is None:
            with scratch(self.what):
                self._file = FileIO(str(self.path))
        return self._file.fileno()

    def mapped(self, reads: int) -> mmap.mmap | bytes:
        """The whole file, to copy from. AlloyError where it is gone.

        reads: in how many places. Every so often the process gives back the pages that it has read, so that its memory does not
        grow with the file; the operating system keeps them as long as there is room.
        """
        if len(self._map) < self.size:
            with scratch(self.what):
                self._map = mmap.mmap(self.opened(), self.size, access=mmap.ACCESS_READ)
        self._touched += reads * AROUND
        if self._touched > MAPPED and isinstance(self._map, mmap.mmap):
            self._map.madvise(mmap.MADV_DONTNEED)
            self._touched = 0
        return self._map


def _remove(file: FileIO, path: Path, process: int) -> None:
    file.close()
    if os.getpid() == process:  # a forked process has the object too
        with suppress(OSError):
            remove_temporary(path)
