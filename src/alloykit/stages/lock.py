"""One process at a time in an output folder; a second one is told who is there.

The lock is the operating system's (flock on Linux and macOS): it ends with the process, however that ends, and a lock file that lies
there says nothing. It holds between all processes of one machine, and between machines where the network filesystem passes locks on
(NFS from version 4 on, SMB, Lustre with `flock`); where it does not, only processes of the same machine see each other. A
filesystem without any locks is warned about.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from alloykit.errors import AlloyError, AlloyWarning
from alloykit.files import write_json
from alloykit.stages.output_folder import LOCK_FILES, check_output

PREFIX = LOCK_FILES
NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
SOON = 1.0  # seconds to wait for a lock: somebody may just be looking whether it is free


class Holder(BaseModel):
    """Who has the lock: what is told to everybody else."""

    pid: int
    host: str
    command: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}: {self.command}"


@contextmanager
def locked(folder: Path, part: tuple[int, int] = (0, 1)) -> Iterator[None]:
    """Have an output folder for oneself while the block runs. AlloyError says who has it.

    part (i, n): the i-th of n processes that share the folder, as `sweep --part` does: they exclude the same part and everybody who
    wants the folder as a whole. A folder that is made for the lock, and in which nothing was written, is removed again.
    """
    check_output(folder)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    with ExitStack() as stack:
        stack.callback(_tidy, folder, made)
        if part[1] == 1:
            stack.enter_context(_held(folder, "lock"))
            for other in sorted(folder.glob(f"{PREFIX}part-*.lock")):
                with _held(folder, other.name.removeprefix(PREFIX), note=False):
                    pass
        else:
            stack.enter_context(_held(folder, f"part-{part[0] + 1}-of-{part[1]}.lock"))
            with _held(folder, "lock", note=False):
                pass
        yield


@contextmanager
def _held(folder: Path, name: str, *, note: bool = True) -> Iterator[None]:
    """Hold one lock. note: leave word of who holds it."""
    path = folder / f"{PREFIX}{name}"
    about = path.with_suffix(".json")
    lock = FileLock(path, timeout=SOON)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise AlloyError(
            expected=f"nobody else at work in {folder}",
            got=_who(about),
            hint="Wait until that is done, or choose another `output`.",
        ) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_LOCKS:
            raise AlloyError(
                expected=f"a folder in which {path} can be locked",
                got=f"'{error.strerror or error}'",
                hint="Choose another `output`, or make room for that file.",
            ) from error
        warning = (
            f"the filesystem of {folder} has no locks: take care that no other process writes there at the same time"
        )
        warnings.warn(AlloyWarning(warning), stacklevel=2)
        yield
        return
    try:
        if note:
            write_json(about, _me().model_dump())
        yield
    finally:
        if note:
            with suppress(OSError):
                about.unlink(missing_ok=True)
        lock.release()


def _me() -> Holder:
    name = Path(sys.argv[0]).name if sys.argv else ""
    name = "alloykit" if name in ("", "-c", "__main__.py", "cli.py") else name
    command = shlex.join([name, *sys.argv[1:]])
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    return Holder(pid=os.getpid(), host=socket.gethostname(), command=command[:200], since=since)


def _who(about: Path) -> str:
    """The holder's own words; a lock without any was taken this moment, or by other hands."""
    try:
        return str(Holder.model_validate(json.loads(about.read_bytes())))
    except (OSError, ValueError, ValidationError):
        return "another process"


def _tidy(folder: Path, made: list[Path]) -> None:
    """Remove what the lock alone has made, so that a command that was refused leaves nothing behind."""
    with suppress(OSError):
        if folder in made and all(file.name.startswith(PREFIX) for file in folder.iterdir()):
            for file in folder.iterdir():
                file.unlink()
            for place in made:
                place.rmdir()
