"""Atomic files."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import re
import shutil
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors

FOREIGN_SECONDS = 24 * 3600  # a temporary file of another machine that is older than this counts as left over
_LEFT_OVER = re.compile(r"\.alloykit-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-\d+\.tmp")
_number = itertools.count()
_may_write = True
_cleaned: set[tuple[int, int]] = set()  # device and inode of folders: a folder has several paths
_live: set[str] = set()  # names of this process's temporary files
_cleaning = threading.Lock()


@contextmanager
def no_writing() -> Iterator[None]:
    """Refuse to write files while the block runs: of several processes of a command, only the first one writes. Temporary files may be written."""
    global _may_write
    before, _may_write = _may_write, False
    try:
        yield
    finally:
        _may_write = before


def check_writing(path: Path | str) -> None:
    """AlloyError inside `no_writing`."""
    if not _may_write:
        raise AlloyError(
            expected=f"{path} as process 0 wrote it",
            got="another file, or none",
            hint="All processes must see the same files: put the run folder on a file system that all machines share.",
        )


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write to a temporary name, sync, rename: readers see the old file or the complete new one. AlloyError.

    Text is written as UTF-8. Characters without a UTF-8 form, such as bytes of a path that are not UTF-8, are written as `\\udcff`."""
    replace_atomic(path, lambda temporary: temporary.write_bytes(_bytes(content)))


def write_output(path: Path, content: bytes | str | Iterable[str]) -> None:
    """`write_atomic` for a file that the user names, whole or in pieces. A device, a pipe or an open descriptor (/dev/null, /dev/stdout,
    `>(gzip > x)`) is written to directly, because a file must not replace it. AlloyError."""
    pieces = [content] if isinstance(content, bytes | str) else content

    def write(place: Path | int) -> None:
        with open(place, "wb") as file:
            file.writelines(_bytes(piece) for piece in pieces)

    if not is_stream(path):
        replace_atomic(path, write)
        return
    with file_errors(path):
        write(_opened(path))


def _bytes(content: bytes | str) -> bytes:
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def _opened(path: Path) -> Path | int:
    """What to open to write to a stream: of an open descriptor of this process a copy, because opening its path again would empty the file
    behind it (`--output /dev/stdout >> answers.jsonl`)."""
    # /dev/stdout is a link to /proc/self/fd/1.
    for place in (path, Path(os.readlink(path)) if path.is_symlink() else path):
        if place.name.isdecimal() and os.path.realpath(place.parent) == os.path.realpath("/proc/self/fd"):
            return os.dup(int(place.name))
    return path


def replace_atomic(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary file beside `path`, sync it, then rename it. On any error the temporary file is removed. AlloyError."""
    check_writing(path)
    temporary = path.parent / _temporary_name()
    try:
        with file_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_left_over(path.parent)
            temporary.touch()
            usual = temporary.stat().st_mode
            write(temporary)
            _set_rights(temporary, usual)
            sync(temporary)
            os.replace(temporary, path)
            sync(path.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        _live.discard(temporary.name)


def move_folder(folder: Path, target: Path) -> None:
    """Sync a complete folder with all its files, then rename it: after a power cut, too, `target` is whole or not there. The files get the
    permissions of the folder. OSError."""
    for place, _, names in os.walk(folder):
        usual = os.stat(place).st_mode
        for name in names:
            _set_rights(Path(place, name), usual)
            sync(Path(place, name))
        sync(Path(place))
    os.replace(folder, target)
    sync(target.parent)


def _set_rights(path: Path, usual: int) -> None:
    """Give a file the permissions that other new files and folders have here. safetensors lets only the owner read its files: a service of another
    user could not read a student."""
    with suppress(OSError):  # a file system without permissions
        if not path.is_symlink():
            os.chmod(path, usual & 0o666)


def link_file(path: Path, target: Path) -> None:
    """A hard link `target` to a file, which takes no space; on another file system a copy. A file that is there already stays. AlloyError."""
    with file_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except FileExistsError:
            return
        except OSError:  # another file system, or one without hard links
            replace_atomic(target, lambda part: shutil.copyfile(path, part))


def temporary_path(folder: Path) -> Path:
    """A new name for a temporary file in a folder, for `remove_temporary` at the end. If this process is killed, the next process that writes
    there removes the file."""
    remove_left_over(folder)
    return folder / _temporary_name()


def remove_temporary(path: Path) -> None:
    """Remove a file of `temporary_path`, if it is there. OSError."""
    path.unlink(missing_ok=True)
    _live.discard(path.name)


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or an open descriptor; False for a file, a folder, and a path that does not exist."""
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return True
        target = os.readlink(path) if path.is_symlink() else ""
        return any(place.startswith("/proc/") for place in (target, os.path.realpath(path.parent) + "/"))
    except (OSError, ValueError):
        return False


def is_left_over(name: str) -> bool:
    """Whether this is the name of a temporary file of alloykit, which a killed process may have left."""
    return _LEFT_OVER.fullmatch(name) is not None


def _temporary_name() -> str:
    name = f".alloykit-{_machine()}-{os.getpid()}-{next(_number)}.tmp"
    _live.add(name)
    return name


@cache
def _machine() -> str:
    """An id of this machine and container. Others that share the file system have other process numbers."""
    name = socket.gethostname()
    with suppress(OSError):
        name += os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def remove_left_over(folder: Path, *, again: bool = False) -> None:
    """Remove temporary files of processes that no longer run: once per process and folder, before its first file there. again: also later."""
    with _cleaning:
        about = os.stat(folder)
        key = about.st_dev, about.st_ino
        if key in _cleaned and not again:
            return
        _cleaned.add(key)
        for entry in os.scandir(folder):
            found = None if entry.name in _live else _LEFT_OVER.fullmatch(entry.name)
            with suppress(OSError):
                if found and _is_dead(found["machine"], int(found["process"]), entry):
                    os.unlink(entry.path)


def _is_dead(machine: str, process: int, entry: os.DirEntry[str]) -> bool:
    if machine != _machine():
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > FOREIGN_SECONDS
    if process == os.getpid():  # this process is not writing it: an earlier one had the same number
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def sync(path: Path) -> None:
    """Make the content of a file durable, or the names in a folder. File systems that cannot sync a folder raise EINVAL. OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
