"""SHA256SUMS beside the weights that alloykit writes, in the form of `sha256sum`. Changed bytes of weights give other answers without any error."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from alloykit.digests import file_sha256, known_sha256
from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import write_atomic

CHECKSUMS = "SHA256SUMS"
MAX_BYTES = 2**20
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def write_checksums(folder: Path, files: Sequence[Path]) -> None:
    """Write the SHA256SUMS of a folder: files in it, or below it."""
    lines = [f"{file_sha256(file)}  {file.relative_to(folder).as_posix()}\n" for file in files]
    write_atomic(folder / CHECKSUMS, "".join(lines))


def refuse_changed(folder: Path, file: Path, model: str) -> None:
    """AlloyError if the SHA256SUMS of a folder names another checksum for a file in it. model: the folder as the user named it, for messages."""
    path = folder / CHECKSUMS
    with file_errors(path):
        wanted = _read(path).get(Path(os.path.relpath(file, folder)).as_posix())
        if wanted is not None and known_sha256(file) != wanted:
            raise AlloyError(
                expected=f"the file {file.name} of '{model}' as it was saved",
                got=f"another content than {CHECKSUMS} says",
                hint=f"It is damaged: copy it again, or make it again. If you have changed it yourself, delete {CHECKSUMS}.",
            )


def _read(path: Path) -> dict[str, str]:
    """Name → checksum. Lines of another form are left out: the file may be somebody else's."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return {match[2]: match[1] for line in lines if (match := _LINE.fullmatch(line))}
