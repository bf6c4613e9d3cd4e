"""One tensor with a row for every text, written piece by piece and read row by row, so that it may be larger than the memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from safetensors import SafetensorError
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.file_errors import check_readable, file_errors
from alloykit.files import replace_atomic
from alloykit.knowledge.store.artifacts import MadeOf
from alloykit.temporary.rows_at import rows_at

KEY = "rows"
PIECE = 1 << 22  # bytes that are hashed at once


class CachedRows:
    """[n, d] float16 in a file: `rows[at]` reads some of them, [len(at), d]. A pickled one reads the same file."""

    def __init__(self, path: Path, offset: int, shape: tuple[int, int]) -> None:
        """offset: of the first row, in bytes. AlloyError where the file cannot be read."""
        self.path, self.offset, self.shape = path, offset, shape
        with file_errors(path):
            self._file = path.open("rb")

    def __reduce__(self) -> Any:
        return CachedRows, (self.path, self.offset, self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: Tensor) -> Tensor:
        """AlloyError where the file cannot be read."""
        with file_errors(self.path):
            rows = rows_at(self._file.fileno(), self.offset, at.numpy(), np.float16, self.shape[1:])
        return torch.from_numpy(rows)


def cached_rows(
    path: Path, made_of: MadeOf, shape: tuple[int, int], compute: Callable[[], Iterable[Tensor]]
) -> CachedRows:
    """[n, d] float16 from `path`, a safetensors file, if it is intact and was made of the same inputs; else it is computed and written.

    shape: (n, d). compute: gives the rows in order, [·, d] float16 each; no more than one of its tensors is in memory. AlloyError where the disk
    is full, or where `compute` gives another number of rows.
    """
    wanted = json.dumps(made_of, default=str, sort_keys=True)
    with suppress(SafetensorError):
        found = _read(path, wanted, shape)
        if found is not None:
            return found
    replace_atomic(path, lambda part: _write(Path(part), wanted, shape, compute()))
    found = _read(path, wanted, shape)
    if found is None:
        raise AlloyError(
            expected=f"the file {path} as it was written", got="another one", hint="Run the command again."
        )
    return found


def _write(path: Path, made_of: str, shape: tuple[int, int], parts: Iterable[Tensor]) -> None:
    """The header has the checksum, so it is written again at the end. Its length stays the same."""
    content, rows = hashlib.sha256(), 0
    with path.open("wb") as file:
        file.write(_header(made_of, shape, "0" * 64))
        for part in parts:
            data = part.detach().cpu().to(torch.float16).contiguous().numpy().tobytes()
            content.update(data)
            file.write(data)
            rows += len(part)
        if rows != shape[0]:
            raise AlloyError(expected=f"{shape[0]} rows for {path.name}", got=f"{rows}")
        file.seek(0)
        file.write(_header(made_of, shape, content.hexdigest()))


def _header(made_of: str, shape: tuple[int, int], checksum: str) -> bytes:
    tensor: dict[str, Any] = {"dtype": "F16", "shape": list(shape), "data_offsets": [0, 2 * shape[0] * shape[1]]}
    text = json.dumps({"__metadata__": {"made_of": made_of, "sha256": checksum}, KEY: tensor}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _read(path: Path, made_of: str, shape: tuple[int, int]) -> CachedRows | None:
    """None if there is no file, or one that was made of other inputs. SafetensorError if it is damaged."""
    if not path.exists():
        return None
    check_readable(path)
    with safetensors.safe_open(path, framework="pt") as file:
        about = file.metadata() or {}
        if about.get("made_of") != made_of:
            return None
        rows = file.get_slice(KEY)
        whole = tuple(rows.get_shape()) == shape and rows.get_dtype() == "F16"
    if not whole or _checksum(path) != about.get("sha256"):
        raise SafetensorError("its content is another one")
    return CachedRows(path, path.stat().st_size - 2 * shape[0] * shape[1], shape)


def _checksum(path: Path) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little"))
        while piece := file.read(PIECE):
            content.update(piece)
    return content.hexdigest()
