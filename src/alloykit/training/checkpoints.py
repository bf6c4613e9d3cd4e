"""Which of the Trainer's checkpoints were written to their end, and are still as they were written."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from pydantic import BaseModel, ValidationError

from alloykit.files import write_json
from alloykit.progress import say

COMPLETE = "alloykit_complete.json"  # written last into a checkpoint: without it, the checkpoint does not count
_NAME = re.compile(r"checkpoint-(\d+)")


class Complete(BaseModel, strict=True):
    """What the last file of a checkpoint says: its step, and the SHA-256 of every other file by its path in the checkpoint."""

    step: int
    files: dict[str, str]


def mark_complete(checkpoint: Path, step: int) -> None:
    """Write the file that makes the checkpoint count."""
    write_json(checkpoint / COMPLETE, Complete(step=step, files=_files(checkpoint)).model_dump())


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end and not changed since; later and unfinished ones are removed.

    Whatever is not called `checkpoint-STEP` is left alone, and no link is followed.
    """
    found = {int(name[1]): path for path in folder.glob("checkpoint-*") if (name := _NAME.fullmatch(path.name))}
    newest = None
    for step in sorted(found, reverse=True):
        checkpoint = found[step]
        if newest is not None and (checkpoint / COMPLETE).is_file():
            continue  # looked at when it is needed
        if newest is None and _is_complete(checkpoint, step):
            newest = checkpoint
            continue
        if (checkpoint / COMPLETE).exists():
            say(f"training: {checkpoint} is damaged, and is removed")
        if checkpoint.is_dir() and not checkpoint.is_symlink():
            shutil.rmtree(checkpoint)
        else:
            checkpoint.unlink()
    return newest


def _is_complete(checkpoint: Path, step: int) -> bool:
    try:
        said = Complete.model_validate_json((checkpoint / COMPLETE).read_bytes())
        return not checkpoint.is_symlink() and said.step == step and said.files == _files(checkpoint)
    except (OSError, ValidationError):
        return False


def _files(checkpoint: Path) -> dict[str, str]:
    files = (path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path.name != COMPLETE)
    return {path.relative_to(checkpoint).as_posix(): sha256(path) for path in files}


def sha256(path: Path) -> str:
    """Of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
