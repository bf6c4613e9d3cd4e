"""Read the store back in any order: a text's row, whichever shard holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.store import CHUNK, Store, logits_unit, passes_unit
from alloykit.rows import Rows, TeacherRows


class StoredKnowledge:
    """A `Source` over the texts of one table, in the table's order; duplicates read the same row.

    `ids`: a text id per text. `passes`: how many Monte-Carlo passes to read, at most what the sweep made.
    `labels`: [n] int64 or None. AlloyError if anything is missing from the store.
    """

    def __init__(
        self,
        store: Store,
        teachers: Sequence[str],
        ids: Sequence[str],
        *,
        passes: int = 0,
        labels: Tensor | None = None,
    ) -> None:
        self.store, self.teachers, self.passes, self.labels = store, tuple(teachers), passes, labels
        shards = store.shards()
        starts = np.cumsum([0] + [len(shard) for shard in shards])
        self._row = find_rows(np.concatenate(shards) if shards else np.empty((0, 16), np.uint8), ids)
        if (self._row < 0).any():
            self._missing(f"{int((self._row < 0).sum())} of {len(ids)} texts")
        self._shard = np.searchsorted(starts, self._row, side="right") - 1
        self._position = self._row - starts[self._shard]
        self._files: dict[str, dict[str, Tensor]] = {}
        for shard in np.unique(self._shard):
            for unit in self._units(int(shard)):
                if not store.has(unit):
                    self._missing(unit)

    def __len__(self) -> int:
        return len(self._row)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = np.asarray(indices, dtype=np.int64)
        shard, position = self._shard[at], torch.from_numpy(self._position[at])
        parts = [(int(s), torch.from_numpy(np.flatnonzero(shard == s))) for s in np.unique(shard)]
        teachers = tuple(self._teacher(teacher, parts, position) for teacher in self.teachers)
        return Rows(teachers, None if self.labels is None else self.labels[torch.from_numpy(at)])

    def _teacher(self, teacher: str, parts: list[tuple[int, Tensor]], position: Tensor) -> TeacherRows:
        logits = self._gather(parts, position, lambda shard: self._load(logits_unit(teacher, shard))["logits"])
        if not self.passes:
            return TeacherRows(logits)
        total, count = torch.zeros_like(logits), torch.zeros(len(position), dtype=torch.int64)
        for start in range(0, self.passes, CHUNK):
            wanted = min(CHUNK, self.passes - start)

            def sums(shard: int, start: int = start, wanted: int = wanted) -> Tensor:
                unit = self._load(passes_unit(teacher, shard, start))
                if wanted == CHUNK:
                    return unit["probability_sum"]
                if "per_pass" not in unit:
                    raise AlloyError(
                        expected=f"a number of passes that is a multiple of {CHUNK} (single passes are not kept here)",
                        got=str(self.passes),
                        hint=f"With so many classes set passes to {start or CHUNK} or {start + CHUNK}.",
                    )
                return unit["per_pass"][:wanted].sum(0)

            total += self._gather(parts, position, sums)
            count += wanted
        return TeacherRows(logits, total, count)

    def pass_variance(self, teacher: str) -> float | None:
        """Variance of a probability over the Monte-Carlo passes, in the mean over texts and labels. None if single passes
        are not kept or fewer than two were read."""
        if self.passes < 2:
            return None
        total, count = 0.0, 0
        for shard in np.unique(self._shard):
            units = [self._load(passes_unit(teacher, int(shard), start)) for start in range(0, self.passes, CHUNK)]
            if any("per_pass" not in unit for unit in units):
                return None
            variance = torch.cat([unit["per_pass"] for unit in units])[: self.passes].double().var(0)
            mine = variance[torch.from_numpy(self._position[self._shard == shard])]
            total, count = total + float(mine.sum()), count + mine.numel()
        return total / count if count else None

    @staticmethod
    def _gather(parts: list[tuple[int, Tensor]], position: Tensor, array: Callable[[int], Tensor]) -> Tensor:
        picked = [array(shard)[position[where]] for shard, where in parts]
        out = picked[0].new_empty(len(position), *picked[0].shape[1:])
        for (_, where), values in zip(parts, picked, strict=True):
            out[where] = values
        return out

    def _units(self, shard: int) -> list[str]:
        starts = range(0, self.passes, CHUNK)
        return [
            unit
            for teacher in self.teachers
            for unit in (logits_unit(teacher, shard), *(passes_unit(teacher, shard, start) for start in starts))
        ]

    def _load(self, unit: str) -> dict[str, Tensor]:
        if unit not in self._files:
            self._files[unit] = self.store.load(unit)
        return self._files[unit]

    def _missing(self, what: str) -> None:
        raise AlloyError(
            expected=f"complete knowledge in {self.store.storage.url}",
            got=f"{what} missing",
            hint="Run `alloykit sweep` with this recipe first; it goes on where it stopped.",
        )


def find_rows(known: np.ndarray[Any, Any], ids: Sequence[str]) -> np.ndarray[Any, Any]:
    """Position of each id among `known` ([n, 16] uint8), −1 where it is not there. [m] int64."""
    if len(ids) == 0 or len(known) == 0:
        return np.full(len(ids), -1, dtype=np.int64)
    wanted = np.frombuffer(bytes.fromhex("".join(ids)), dtype=">u8").reshape(-1, 2)
    table = np.ascontiguousarray(known).view(">u8").reshape(-1, 2)
    # One number per id: its place among all distinct ids, known and wanted.
    both = np.concatenate([table, wanted])
    _, rank = np.unique(both, axis=0, return_inverse=True)
    rank = rank.reshape(-1)
    place = np.full(int(rank.max()) + 1, -1, dtype=np.int64)
    place[rank[: len(table)]] = np.arange(len(table))
    return place[rank[len(table) :]]
