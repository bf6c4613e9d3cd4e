"""Which of the Trainer's checkpoints were written to their end."""

from __future__ import annotations

import shutil
from pathlib import Path

COMPLETE = "alloykit_complete.json"  # written last into a checkpoint: without it, the checkpoint does not count


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end; unfinished ones are removed."""
    found: list[tuple[int, Path]] = []
    for checkpoint in folder.glob("checkpoint-*"):
        if (checkpoint / COMPLETE).exists():
            found.append((int(checkpoint.name.rsplit("-", 1)[1]), checkpoint))
        else:
            shutil.rmtree(checkpoint)
    return max(found)[1] if found else None
