"""One process at a time in an output folder. A second process gets an error that names the first.

The lock is the operating system's (flock on Linux and macOS): it ends with the process in any case, and a remaining lock file
means nothing. It works between all processes of one machine, and between machines if the network filesystem supports locks
(NFS from version 4 on, SMB, Lustre with `flock`). Otherwise only processes of the same machine exclude each other. There is a warning
for a filesystem without locks.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from alloykit.errors import AlloyError, AlloyWarning
from alloykit.files import remove_left_over
from alloykit.json_files import write_json
from alloykit.run_folder.output_folder import LOCK_FILES, check_output

PREFIX = LOCK_FILES
NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
SOON = 1.0  # seconds to wait for a lock: another process may only be checking it


class Holder(BaseModel):
    """The process that has the lock, for messages in other processes."""

    pid: int
    host: str
    command: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}: {self.command}"


@contextmanager
def locked(folder: Path, part: tuple[int, int] = (0, 1)) -> Iterator[None]:
    """Exclusive use of an output folder while the block runs. AlloyError if another process uses it.

    part (i, n): the i-th of n processes that share the folder, as `sweep --part` does. They exclude processes with the same part, and
    processes that need the whole folder. A folder that was made for the lock is removed again if it is still empty.
    """
    check_output(folder)
    with suppress(OSError):  # of a killed process: this one may need no temporary file itself
        remove_left_over(Path(tempfile.gettempdir()))
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    with ExitStack() as stack:
        stack.callback(_remove_empty, made)
        hold = partial(_hold, folder, made=bool(made))
        if part[1] == 1:
            stack.enter_context(hold("lock"))
            for other in sorted(folder.glob(f"{PREFIX}part-*.lock")):
                with hold(other.name.removeprefix(PREFIX), note=False):
                    pass
        else:
            stack.enter_context(hold(f"part-{part[0] + 1}-of-{part[1]}.lock"))
            with hold("lock", note=False):
                pass
        yield


@contextmanager
def _hold(folder: Path, name: str, *, made: bool, note: bool = True) -> Iterator[None]:
    """Hold one lock. made: the folder was made for it, so the lock's file goes if nothing else came. note: write down which process holds it.

    The file is removed while the lock is held: another process that gets the lock of a removed file sees this, and takes that of the new file
    (filelock). Removed later, it could be the file of a lock that another process holds by then."""
    path = folder / f"{PREFIX}{name}"
    about = path.with_suffix(".json")
    # The other kind of lock is a file that stays after a kill, and that an empty file of this name would be for ever.
    lock = FileLock(path, timeout=SOON, fallback_to_soft=False)
    try:
        _acquire(lock)
    except Timeout:
        raise AlloyError(
            expected=f"no other process at work in {folder}",
            got=_holder_message(about),
            hint="Wait until it has finished, or choose another `output`.",
        ) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_LOCKS:
            raise AlloyError(
                expected=f"a folder in which {path} can be locked",
                got=f"'{error.strerror or error}'",
                hint="Make this folder writable and free some space, or use another folder.",
            ) from error
        warning = (
            f"the filesystem of {folder} has no locks: take care that no other process writes there at the same time"
        )
        warnings.warn(AlloyWarning(warning), stacklevel=2)
        try:
            yield
        finally:
            if made:
                _remove_if_alone(path)
        return
    try:
        if note:
            write_json(about, _this_process().model_dump())
        yield
    finally:
        if note:
            with suppress(OSError):
                about.unlink()
        if made:
            _remove_if_alone(path)
        lock.release()


def _acquire(lock: FileLock) -> None:
    """Get the lock. This makes the folder, which another process may remove in between. OSError, Timeout."""
    for last in (False, False, True):
        try:
            lock.acquire()
            return
        except FileNotFoundError:
            if last:
                raise


def _this_process() -> Holder:
    name = Path(sys.argv[0]).name if sys.argv else ""
    name = "alloykit" if name in ("", "-c", "__main__.py", "cli.py") else name
    command = shlex.join([name, *sys.argv[1:]])
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    return Holder(pid=os.getpid(), host=socket.gethostname(), command=command[:200], since=since)


def _holder_message(about: Path) -> str:
    """What the holder has written down. A lock without this was taken just now, or by another program."""
    try:
        return str(Holder.model_validate(json.loads(about.read_bytes())))
    except (OSError, ValueError, ValidationError):
        return "another process"


def _remove_if_alone(path: Path) -> None:
    """Remove the file of a lock from a folder that has only files of locks: a refused command leaves nothing behind."""
    with suppress(OSError):
        if all(file.name.startswith(PREFIX) for file in path.parent.iterdir()):
            path.unlink()


def _remove_empty(folders: list[Path]) -> None:
    """Remove these folders, each of which is in the next one, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
