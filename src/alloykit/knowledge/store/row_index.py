"""The row of each text id: a sorted table of 128-bit numbers, 20 bytes per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Ids = Sequence[str] | np.ndarray[Any, Any]
"""Text ids, as strings of 32 hex characters or as [n, 16] uint8."""
BLOCK = 1 << 16  # ids that are looked up at a time


def as_bytes(ids: Ids) -> np.ndarray[Any, Any]:
    """[n, 16] uint8."""
    if isinstance(ids, np.ndarray):
        return ids
    return np.frombuffer(bytearray.fromhex("".join(ids)), dtype=np.uint8).reshape(-1, 16)


class RowIndex:
    """Rows are counted over all parts ([n, 16] uint8 each), in order; of equal ids the first counts."""

    def __init__(self, parts: Sequence[np.ndarray[Any, Any]]) -> None:
        high, low = ([part.view(np.uint64).reshape(-1, 2)[:, half] for part in parts] for half in (0, 1))
        none = [np.empty(0, np.uint64)]
        self._high, self._low = np.concatenate(none + high), np.concatenate(none + low)
        order = np.argsort(self._high, kind="stable").astype(np.int32)
        self._high, self._low, self._row = self._high[order], self._low[order], order

    def find(self, ids: Ids) -> np.ndarray[Any, Any]:
        """The row of each id, −1 if there is none. [m] int32."""
        wanted = as_bytes(ids)
        found = np.full(len(wanted), -1, dtype=np.int32)
        for start in range(0, len(wanted), BLOCK):
            found[start : start + BLOCK] = self._find(wanted[start : start + BLOCK].view(np.uint64).reshape(-1, 2))
        return found

    def _find(self, wanted: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found = np.full(len(wanted), -1, dtype=np.int32)
        at = np.searchsorted(self._high, wanted[:, 0])
        open_ = np.arange(len(wanted))
        while len(open_):  # more than one round only if the first halves of ids are equal
            open_ = open_[at[open_] < len(self._high)]
            open_ = open_[self._high[at[open_]] == wanted[open_, 0]]
            hit = self._low[at[open_]] == wanted[open_, 1]
            found[open_[hit]] = self._row[at[open_[hit]]]
            open_ = open_[~hit]
            at[open_] += 1
        return found
