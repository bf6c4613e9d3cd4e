"""What is pending in a sweep: which files of the store are missing, and of which texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloykit.errors import AlloyError
from alloykit.knowledge.store.row_index import RowIndex
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK, PER_PASS_CLASSES, logits_unit, passes_unit, pooled_unit
from alloykit.knowledge.sweep.request import SweepOptions

_Array = np.ndarray[Any, Any]
Shards = dict[str, _Array]
"""Shard → per row the position of its text in the table, −1 if the table does not have it."""


@dataclass(frozen=True)
class PendingShard:
    """What one teacher still has to read of one shard. `texts`: for each row the position of its text in the table. `units`: what is missing."""

    shard: str
    texts: _Array
    units: list[str]

    @property
    def reads(self) -> int:
        kinds = [unit.rsplit(".", 1)[1].split("-")[0] for unit in self.units]
        plain = "logits" in kinds or "pooled" in kinds  # one pass gives both
        return len(self.texts) * (plain + CHUNK * kinds.count("passes"))


def units_of(teacher: str, shard: str, options: SweepOptions) -> list[str]:
    """All units of a teacher for a shard."""
    return [
        logits_unit(teacher, shard),
        *(pooled_unit(teacher, shard, layer) for layer in options.layers.get(teacher, ())),
        *(passes_unit(teacher, shard, start) for start in range(0, options.passes, CHUNK)),
    ]


def shards_for(store: Store, ids: _Array, names: Sequence[str], options: SweepOptions) -> Shards:
    """The shards with the rows of the texts; missing rows are added in new shards. AlloyError if a text still has no row.

    A shard is used if it is complete, or if the table has all of its texts, so that it can be filled. A text in no such shard gets
    a row in a new one. So only rows are filled whose text is in the table, whatever other processes add meanwhile.
    """
    chosen, lacking = _choose(store, ids, names, options)
    if lacking.any():
        store.add(ids[lacking])
        chosen, lacking = _choose(store, ids, names, options)
    if lacking.any():
        raise AlloyError(
            expected=f"a row in {store.storage.url} for every text",
            got=f"none for {int(lacking.sum())} of {len(ids)} texts, though they were added",
            hint="Has something removed files from the store meanwhile? Run the same command again.",
        )
    return chosen


def _choose(
    store: Store, ids: _Array, names: Sequence[str], options: SweepOptions
) -> tuple[Shards, np.ndarray[Any, Any]]:
    """Shards for the texts, oldest first, and which texts are in none of them, [n] bool."""
    index, complete = RowIndex([ids]), {name: store.units(f"teachers/{name}") for name in names}
    chosen: Shards = {}
    covered = np.zeros(len(ids), dtype=bool)
    for shard, rows in store.shards().items():
        at = index.find(rows)
        mine = at[at >= 0]
        if covered[mine].all():
            continue
        lacks = any(unit.rsplit("/", 1)[1] not in complete[n] for n in names for unit in units_of(n, shard, options))
        if lacks and (at < 0).any():
            continue
        covered[mine] = True
        chosen[shard] = at
    return chosen, ~covered[index.find(ids)]


def part_of(shards: Shards, part: tuple[int, int]) -> Shards:
    """This process's share: every n-th shard, from the i-th."""
    return {shard: at for n, (shard, at) in enumerate(shards.items()) if n % part[1] == part[0]}


def pending_of(store: Store, teacher: str, shards: Shards, options: SweepOptions) -> list[PendingShard]:
    """The pending shards of one teacher."""
    complete = store.units(f"teachers/{teacher}")
    return [
        PendingShard(shard, at, [u for u in units_of(teacher, shard, options) if u.rsplit("/", 1)[1] not in complete])
        for shard, at in shards.items()
    ]


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
