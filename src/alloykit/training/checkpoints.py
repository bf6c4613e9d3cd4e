"""Find the Trainer's checkpoints that are complete and unchanged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pydantic import BaseModel, ValidationError

from alloykit.digests import file_sha256
from alloykit.json_files import write_json
from alloykit.progress import log_line

COMPLETE_FILE = "alloykit_complete.json"  # written last: a checkpoint without this file is incomplete
_NAME = re.compile(r"checkpoint-(\d+)")


class CompletionRecord(BaseModel, strict=True):
    """The content of a checkpoint's last file: its step, and the SHA-256 of every other file by its path in the checkpoint."""

    step: int
    files: dict[str, str]


def mark_complete(checkpoint: Path, step: int) -> None:
    """Write the file that marks the checkpoint as complete."""
    write_json(checkpoint / COMPLETE_FILE, CompletionRecord(step=step, files=_files(checkpoint)).model_dump())


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is complete and unchanged. Later ones and incomplete ones are removed.

    Files with other names than `checkpoint-STEP` are left alone, and no link is followed.
    """
    found = {int(name[1]): path for path in folder.glob("checkpoint-*") if (name := _NAME.fullmatch(path.name))}
    newest = None
    for step in sorted(found, reverse=True):
        checkpoint = found[step]
        if newest is not None and (checkpoint / COMPLETE_FILE).is_file():
            continue  # checked only when it is needed
        if newest is None and _is_complete(checkpoint, step):
            newest = checkpoint
            continue
        if (checkpoint / COMPLETE_FILE).exists():
            log_line(f"training: {checkpoint} is damaged, and is removed")
        if checkpoint.is_dir() and not checkpoint.is_symlink():
            shutil.rmtree(checkpoint)
        else:
            checkpoint.unlink()
    return newest


def _is_complete(checkpoint: Path, step: int) -> bool:
    try:
        record = CompletionRecord.model_validate_json((checkpoint / COMPLETE_FILE).read_bytes())
        return not checkpoint.is_symlink() and record.step == step and record.files == _files(checkpoint)
    except (OSError, ValidationError):
        return False


def _files(checkpoint: Path) -> dict[str, str]:
    files = (path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path.name != COMPLETE_FILE)
    return {path.relative_to(checkpoint).as_posix(): file_sha256(path) for path in files}
