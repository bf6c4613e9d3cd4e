"""A temporary file that is written once, from front to back, and read through a memory map."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import weakref
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from alloykit.files import scratch, temporary_path

AROUND = 1 << 16  # bytes that Linux maps around a byte that is read
MAPPED = 1 << 23  # bytes of all files that may be mapped before they are given back

_maps = weakref.WeakSet["MappedFile"]()  # the files of this process that were read
_lock = threading.Lock()
_touched = 0


class MappedFile:
    """It lies in the folder for temporary files (TMPDIR). A pickled one opens the same file, in any process.

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
        weakref.finalize(self, _remove, file, self.path, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        return {"what": self.what, "size": self.size, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _file=None, _map=b"")

    def write(self, data: Any) -> int:
        """Append bytes, an array or an Arrow buffer, and return where it begins. AlloyError where the disk is full: what was written before
        can still be read."""
        assert self._file is not None, "a copy in another process only reads"
        if not memoryview(data).nbytes:
            return self.size
        view, done = memoryview(data).cast("B"), 0
        with scratch(self.what):
            while done < len(view):
                done += os.pwrite(self._file.fileno(), view[done:], self.size + done)
        self.size += done
        return self.size - done

    def mapped(self, reads: int) -> mmap.mmap | bytes:
        """The whole file, to copy from. AlloyError where it is gone.

        reads: in how many places. Every so often the process gives back the pages that it has read of all files, so that its memory does not
        grow with the files; the operating system keeps them as long as there is room.
        """
        global _touched
        if len(self._map) < self.size:
            with scratch(self.what):
                file = self._file or FileIO(str(self.path))
                self._map = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        with _lock:
            _maps.add(self)
            _touched += reads * AROUND
            if _touched > MAPPED:
                for one in list(_maps):
                    if isinstance(one._map, mmap.mmap):
                        one._map.madvise(mmap.MADV_DONTNEED)
                _touched = 0
        return self._map


def _remove(file: FileIO, path: Path, process: int) -> None:
    file.close()
    if os.getpid() == process:  # a forked process has the object too
        with suppress(OSError):
            path.unlink(missing_ok=True)
