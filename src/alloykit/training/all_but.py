"""All positions of a table but a few."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

Positions = np.ndarray[Any, Any]


class AllBut:
    """0 … n − 1 without some positions, ascending. Memory holds only those that are left out."""

    def __init__(self, n: int, without: Positions | None = None) -> None:
        """without: ascending."""
        self.n, self.without = n, np.empty(0, np.int64) if without is None else without
        self._gaps = self.without - np.arange(len(self.without))  # how many positions come before each that is left out

    def __len__(self) -> int:
        return self.n - len(self.without)

    def __getitem__(self, which: Any) -> Any:
        """The positions at these places, an int or an array. IndexError for places that there are not."""
        if isinstance(which, int):
            if not 0 <= which < len(self):
                raise IndexError(which)
            return which + bisect_right(self._gaps, which)
        if np.any((places := np.asarray(which)) < 0) or np.any(places >= len(self)):
            raise IndexError(which)
        return which + np.searchsorted(self._gaps, which, side="right")
