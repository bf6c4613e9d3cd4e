"""Rows of numbers in a temporary file without a name: written once from front to back, read in any order."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from alloykit.files import scratch

Places = np.ndarray[Any, Any]


class RowFile:
    """Every row has the same width. Memory holds nothing of it."""

    def __init__(self, dtype: Literal["float32", "float16"]) -> None:
        self.dtype, self.width = np.dtype(dtype), 0
        with scratch("the teachers' outputs"):
            self._file = tempfile.TemporaryFile(prefix="alloykit-outputs-")  # noqa: SIM115 - it lives as long as this

    def write(self, rows: Tensor) -> None:
        """Append [n, width]. AlloyError where the disk is full."""
        self.width = rows.shape[-1]
        with scratch("the teachers' outputs"):
            self._file.write(rows.contiguous().numpy().astype(self.dtype, copy=False).data)

    def finished(self) -> Self:
        """To be called before the first read. AlloyError where the disk is full."""
        with scratch("the teachers' outputs"):
            self._file.flush()
        return self

    def read(self, places: Places) -> Tensor:
        """The rows at these places, [len(places), width]."""
        out = np.empty((len(places), self.width), dtype=self.dtype)
        size = self.dtype.itemsize * self.width
        for run in np.split(np.arange(len(places)), np.flatnonzero(np.diff(places) != 1) + 1) if out.size else []:
            data = os.pread(self._file.fileno(), size * len(run), size * int(places[run[0]]))
            out[run[0] : run[0] + len(run)] = np.frombuffer(data, dtype=self.dtype).reshape(len(run), self.width)
        return torch.from_numpy(out)
