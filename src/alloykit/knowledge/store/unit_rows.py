"""Rows of a unit, read from its file without the rest of it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from alloykit.file_errors import file_errors
from alloykit.temporary.rows_at import bytes_at, rows_at

OPEN = 256  # files that are open at a time
DTYPES = {"F32": np.float32, "F16": np.float16}


class UnitRows:
    """The tensors of a safetensors file of which some rows are read: `unit["logits"][places]`. The file's checksum must have been verified before."""

    def __init__(self, path: Path) -> None:
        """AlloyError where the file cannot be read."""
        self.path = path
        with file_errors(path):
            self.file = FileIO(str(path))
            self.start = 8 + int.from_bytes(bytes_at(self.file.fileno(), 0, 8), "little")
            self.header = json.loads(bytes_at(self.file.fileno(), 8, self.start - 8))

    def __contains__(self, tensor: object) -> bool:
        return tensor in self.header

    def __getitem__(self, tensor: str) -> TensorRows:
        return TensorRows(self, self.header[tensor])


class TensorRows:
    """One tensor, [R, …] or [k, R, …]: `rows[places]` and `rows[:n, places]` as of the tensor itself."""

    def __init__(self, unit: UnitRows, about: dict[str, Any]) -> None:
        self.unit, self.shape, self.dtype = unit, tuple(about["shape"]), DTYPES[about["dtype"]]
        self.offset = unit.start + about["data_offsets"][0]

    def __getitem__(self, index: Tensor | tuple[slice, Tensor]) -> Tensor:
        """AlloyError where the file cannot be read."""
        if isinstance(index, tuple):
            rows, parts = self.shape[1], range(self.shape[0])[index[0]]
            return torch.stack([self._read(index[1].numpy() + part * rows, self.shape[2:]) for part in parts])
        return self._read(index.numpy(), self.shape[1:])

    def _read(self, places: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Tensor:
        with file_errors(self.unit.path):
            return torch.from_numpy(rows_at(self.unit.file.fileno(), self.offset, places, self.dtype, shape))


class OpenUnits:
    """The units that were read last stay open. A pickled one has none open."""

    def __init__(self, path_of: Callable[[str], str]) -> None:
        """path_of: unit → its file."""
        self._path_of, self._open = path_of, OrderedDict[str, UnitRows]()

    def __reduce__(self) -> tuple[type[Self], tuple[Callable[[str], str]]]:
        return type(self), (self._path_of,)

    def unit(self, name: str) -> UnitRows:
        """AlloyError where its file cannot be read."""
        if name not in self._open:
            self._open[name] = UnitRows(Path(self._path_of(f"{name}.safetensors")))
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].file.close()
        self._open.move_to_end(name)
        return self._open[name]
