"""Python's audit hook in the child: it counts changes to files, kills or fails at the n-th, and notices what must never happen.

It sees what Python itself does. The weights that safetensors and torch write from C++ are not seen, but the rename that makes
them count is; `torn` cuts the file about to be renamed in half before the process dies, as a kill in the middle of the write would.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Collection, Mapping
from typing import Any

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
STARTED = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
LOCAL = "127.0.0.1"
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """`install` it in the child, `close` it before the child ends."""

    def __init__(self, folder: str, report: str, fault: Mapping[str, Any], ports: Collection[int] = ()) -> None:
        """ports: of 127.0.0.1, which it may connect to."""
        self.folder, self.fault, self.ports = os.path.realpath(folder) + "/", fault, {0, *ports} if ports else set()
        self.report = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.changes, self.open = 0, True

    def install(self) -> None:
        sys.addaudithook(self)

    def close(self) -> None:
        self.open = False
        os.write(self.report, f"changes {self.changes}\n".encode())

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.open:
            return
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, (str, bytes)) and flags & WRITING and (mode is None or mode != "r"):
                self._change(event, path)
        elif event in CHANGES:
            if isinstance(arguments[0], (str, bytes, os.PathLike)):
                self._change(event, os.fspath(arguments[0]))
        elif event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            place = arguments[1] if event == "socket.connect" else arguments[:2]
            if (
                self.ports
                and isinstance(place, tuple)
                and place[0] in (LOCAL, LOCAL.encode())
                and place[1] in self.ports
            ):
                return
            self._note(f"network {event} {arguments[-1] if event == 'socket.connect' else arguments[:2]}")
            raise OSError(errno.ENETUNREACH, "the benchmark has no network")
        elif event == "exec":
            name = getattr(arguments[0], "co_filename", "")
            if name.startswith(self.folder) or "transformers_modules" in name:
                self._note(f"code {name}")
        elif event == "pickle.find_class":
            self._note(f"pickle {arguments[0]}.{arguments[1]}")
        elif event in STARTED:
            self._note(f"process {arguments[0]} {arguments[1] if len(arguments) > 1 else ''}")
        elif event == "ctypes.dlopen" and str(arguments[0]).startswith(self.folder):
            self._note(f"library {arguments[0]}")

    def _change(self, event: str, path: str | bytes) -> None:
        place = os.path.abspath(os.fsdecode(path))
        if not place.startswith(self.folder) or place.startswith(self.folder + "log/"):
            return
        self.changes += 1
        if self.changes == self.fault.get("kill_at"):
            if self.fault.get("torn") and event == "os.rename" and os.path.isfile(place):
                half = os.open(place, os.O_WRONLY)
                os.ftruncate(half, os.fstat(half).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        at = self.fault.get("error_at")
        if at is not None and (self.changes == at or (self.fault.get("on") and self.changes > at)):
            if event in ("os.remove", "os.rmdir"):  # removing needs no room
                return
            number = getattr(errno, self.fault["errno"])
            raise OSError(number, os.strerror(number), place)

    def _note(self, what: str) -> None:
        os.write(self.report, f"seen {what}\n".replace("\0", "").encode(errors="replace"))
