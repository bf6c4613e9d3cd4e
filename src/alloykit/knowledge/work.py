"""What a sweep has to do: which files of the store are missing, and which texts they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloykit.knowledge.index import RowIndex
from alloykit.knowledge.options import SweepOptions
from alloykit.knowledge.store import (
    CHUNK,
    PER_PASS_CLASSES,
    Store,
    logits_unit,
    passes_unit,
    pooled_unit,
)

Positions = np.ndarray[Any, Any]
Shards = dict[int, Positions]
"""Per shard and row the position of its text in the table, −1 where the text is not in it."""


@dataclass(frozen=True)
class ShardWork:
    """One shard's work for one teacher. `texts`: for each row the position of its text in the table. `units`: what is missing."""

    number: int
    texts: Positions
    units: list[str]

    @property
    def reads(self) -> int:
        kinds = [unit.rsplit(".", 1)[1].split("-")[0] for unit in self.units]
        plain = "logits" in kinds or "pooled" in kinds  # one pass gives both
        return len(self.texts) * (plain + CHUNK * kinds.count("passes"))


def shards_of(store: Store, ids: Positions, part: tuple[int, int] = (0, 1)) -> Shards:
    """This process's shards that hold any of the texts."""
    shards = store.shards()
    starts = np.cumsum([0] + [len(shard) for shard in shards])
    rows = RowIndex(shards).find(ids)
    position = np.full(starts[-1], -1, dtype=np.int32)
    position[rows] = np.arange(len(rows), dtype=np.int32)  # of a text that occurs several times, any will do
    found = {n: position[starts[n] : starts[n + 1]] for n in range(part[0], len(shards), part[1])}
    return {n: at for n, at in found.items() if (at >= 0).any()}


def give_rows(store: Store, ids: Positions, names: list[str], options: SweepOptions) -> None:
    """A row for every text: a new one too where the shard it has one in lacks something, and other texts of that shard are not at hand."""
    store.add(ids)
    partly = {n: at for n, at in shards_of(store, ids).items() if (at < 0).any()}
    lacking = {w.number for name in names for w in work_of(store, name, partly, options) if w.units}
    if lacking:
        again = np.unique(np.concatenate([partly[number] for number in sorted(lacking)]))
        store.add(ids[again[again >= 0]], again=True)


def work_of(store: Store, teacher: str, shards: Shards, options: SweepOptions) -> list[ShardWork]:
    """What one teacher has to do."""
    found = []
    for number, at in shards.items():
        units = [
            logits_unit(teacher, number),
            *(pooled_unit(teacher, number, layer) for layer in options.layers.get(teacher, ())),
            *(passes_unit(teacher, number, start) for start in range(0, options.passes, CHUNK)),
        ]
        found.append(ShardWork(number, at, [unit for unit in units if not store.has(unit)]))
    return found


def bytes_needed(n_texts: int, classes: Sequence[int], passes: int, pooled: Sequence[int] = ()) -> int:
    """Size of the arrays that a sweep writes, and of the text ids. `pooled`: the width of every layer whose pooled states are kept."""
    units = [".logits", *(".passes" for _ in range(0, passes, CHUNK))]
    size = sum(unit_bytes(unit, n_texts, c) for c in classes for unit in units)
    return 16 * n_texts + size + 2 * n_texts * sum(pooled)


def unit_bytes(unit: str, rows: int, classes: int, *, width: int = 0) -> int:
    """`width`: of hidden states."""
    if ".logits" in unit:
        return 4 * classes * rows
    if ".pooled" in unit:
        return 2 * width * rows
    kept = CHUNK * classes if classes <= PER_PASS_CLASSES else 0
    return 4 * (classes + 1 + kept) * rows
