"""Error messages for files that cannot be written or read."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

from alloykit.errors import AlloyError

AGAIN = "then run the same command again: finished parts are kept."


def os_error(
    error: BaseException, path: Path | str, *, what: str = "", instead: str = "choose another folder"
) -> AlloyError:
    """One message for a file that could not be written or read.

    `what`: what was written to the folder `path`, if `path` is not a file that the user named. `instead`: what else the user could do.

    The message says "free some space" only if the disk or the quota is full.
    """
    number, target = _errno(error, path), f"{what} in {path}" if what else str(path)
    reason = (
        os.strerror(number) if number else str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    )
    place = getattr(error, "filename", None)
    expected, hint = {
        errno.ENOSPC: (f"room to write {target}", f"Free some space or {instead}, {AGAIN}"),
        errno.EDQUOT: (f"room to write {target}", f"Your quota is used up. Free some space or {instead}, {AGAIN}"),
        errno.EFBIG: (
            f"room to write {target}",
            f"This file system or a limit (`ulimit -f`) allows no file so large. Raise it or {instead}, {AGAIN}",
        ),
        errno.EROFS: (
            f"a file system that can be written to, for {target}",
            f"It is mounted read-only. Write somewhere else: {instead}.",
        ),
        errno.EACCES: (f"permission to use {target}", f"Change the rights of the file or its folder, or {instead}."),
        errno.EPERM: (f"permission to use {target}", f"Change the rights of the file or its folder, or {instead}."),
        errno.EISDIR: (f"a file at {target}", "A folder is in the way. Move it away or choose another name."),
        errno.ENOTEMPTY: (f"a file at {target}", "A folder is in the way. Move it away or choose another name."),
        errno.ENOTDIR: (f"a folder at {Path(path).parent}", f"A file is in the way. Move it away or {instead}."),
        errno.EEXIST: (
            f"a folder at {place or Path(path).parent}",
            f"A file or a broken link is in the way. Move it away or {instead}.",
        ),
        errno.ENOENT: (
            f"{target} or the folder for it",
            f"It does not exist, or a link in its path is broken. Restore it or {instead}.",
        ),
        errno.ELOOP: (f"a path without a circle of links, for {target}", f"Remove the link or {instead}."),
        errno.ENAMETOOLONG: (f"a shorter name than {target}", "Choose a shorter name."),
        errno.EMFILE: (f"to open {target}", "Too many files are open. Raise the limit (`ulimit -n`)."),
        errno.ENFILE: (f"to open {target}", "Too many files are open on this machine."),
    }.get(number, (f"to write or read {target}", f"Check its disk, or {instead}, {AGAIN}"))  # fmt: skip
    return AlloyError(expected=expected, got=f"'{reason}'", hint=hint)


def _errno(error: BaseException, path: Path | str) -> int:
    """The error's number. torch and safetensors hide it in a text, or lose it; then 0, or that of a full disk if the disk is full."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    if found := re.search(r"\(os error (\d+)\)", str(error)):
        return int(found[1])
    texts = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)}
    if number := next((code for text, code in texts.items() if text in str(error)), 0):
        return number
    if isinstance(error, RuntimeError):  # torch says only that writing failed
        return _full_disk(Path(path))
    return 0


def _full_disk(path: Path) -> int:
    """ENOSPC if the disk of `path` is full, EFBIG if there is a limit for the size of files, else 0."""
    import resource

    place = next((p for p in (path, *path.parents) if p.is_dir()), Path())
    with suppress(OSError):
        room = os.statvfs(place)
        if room.f_bavail * room.f_frsize < 1 << 20 or (room.f_files and not room.f_favail):
            return errno.ENOSPC
    return errno.EFBIG if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY else 0


@contextmanager
def file_errors(path: Path | str, what: str = "", *, instead: str = "choose another folder") -> Iterator[None]:
    """Errors of reading or writing `path`, inside, become AlloyErrors (`os_error`)."""
    try:
        yield
    except (AlloyError, BrokenPipeError):  # a closed standard output is not an error of a file
        raise
    except Exception as error:
        if isinstance(error, (OSError, SafetensorError)) or "(os error " in str(error):  # tokenizers raises Exception
            raise os_error(error, path, what=what, instead=instead) from error
        raise


@contextmanager
def scratch(what: str) -> Iterator[None]:
    """`file_errors` for files in the folder for temporary files (TMPDIR). what: the content, for messages."""
    try:
        folder = tempfile.gettempdir()
    except OSError as error:  # it tries to write to each candidate
        raise AlloyError(
            expected=f"a folder for temporary files that can be written to, for {what}",
            got=f"'{error.strerror or error}'",
            hint="Set TMPDIR to a folder with free space.",
        ) from error
    with file_errors(folder, what, instead="set TMPDIR to another folder"):
        yield


def refuse_streams(path: Path) -> None:
    """AlloyError for a pipe, which may have no writer, and for a device, which may have no end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise AlloyError(expected=f"a file {path}", got="a pipe or a device", hint="Put the file itself in its place.")


def check_readable(path: Path) -> None:
    """AlloyError that says why a file cannot be read. safetensors says only that it is not there."""
    with file_errors(path):
        refuse_streams(path)
        with path.open("rb"):
            pass
