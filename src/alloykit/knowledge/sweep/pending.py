"""What is pending in a sweep: which files of the store are missing, and of which texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import (
    CHUNK,
    keeps_single_passes,
    logits_unit,
    name_in_folder,
    passes_unit,
    pooled_unit,
)
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.temporary.buckets import BLOCK
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import Ids, RowIndex, id_blocks

_Array = np.ndarray[Any, Any]


class Shards(Mapping[str, _Array]):
    """Shard → per row the position of its text in the table, [R] int64, read from a temporary file when it is asked for."""

    def __init__(self, places: Mapping[str, tuple[int, int]], file: RowFile) -> None:
        """places: by shard, the first of its rows in the file and how many there are."""
        self._places, self._file = places, file

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, shard: object) -> bool:
        return shard in self._places

    def __getitem__(self, shard: str) -> _Array:
        first, rows = self._places[shard]
        return self._file.between(first, first + rows)

    def rows(self, shard: str) -> int:
        """How many rows a shard has."""
        return self._places[shard][1]

    def part(self, part: tuple[int, int]) -> Shards:
        """This process's share: every n-th shard, from the i-th."""
        mine = {shard: place for n, (shard, place) in enumerate(self._places.items()) if n % part[1] == part[0]}
        return Shards(mine, self._file)


@dataclass(frozen=True)
class PendingShard:
    """What one teacher still has to read of one shard, with this number of rows. `units`: what is missing."""

    shard: str
    rows: int
    units: list[str]

    @property
    def reads(self) -> int:
        kinds = [unit.rsplit(".", 1)[1].split("-")[0] for unit in self.units]
        plain = "logits" in kinds or "pooled" in kinds  # one pass gives both
        return self.rows * (plain + CHUNK * kinds.count("passes"))


def units_of(teacher: str, shard: str, options: SweepOptions) -> list[str]:
    """All units of a teacher for a shard."""
    return [
        logits_unit(teacher, shard),
        *(pooled_unit(teacher, shard, layer) for layer in options.layers.get(teacher, ())),
        *(passes_unit(teacher, shard, start) for start in range(0, options.passes, CHUNK)),
    ]


def shards_for(store: Store, ids: Ids, names: Sequence[str], options: SweepOptions) -> Shards:
    """The shards with the rows of the texts; missing rows are added in new shards. AlloyError if a text still has no row.

    A shard is used if it is complete, or if the table has all of its texts, so that it can be filled. A text in no such shard gets
    a row in a new one. So only rows are filled whose text is in the table, whatever other processes add meanwhile.
    """
    index = RowIndex(id_blocks(ids), len(ids))
    chosen, lacking, texts = _choose(store, index, ids, names, options)
    if texts:
        store.add(lacking)
        chosen, _, texts = _choose(store, index, ids, names, options)
    if texts:
        raise AlloyError(
            expected=f"a row in {store.storage.url} for every text",
            got=f"none for {texts} of {len(ids)} texts, though they were added",
            hint="Has something removed files from the store meanwhile? Run the same command again.",
        )
    with suppress(AlloyError):  # a store that cannot be written to is complete, or the sweep says so
        store.keep_index()
    return chosen


def _choose(
    store: Store, index: RowIndex, ids: Ids, names: Sequence[str], options: SweepOptions
) -> tuple[Shards, RowFile, int]:
    """Shards for the texts, oldest first; the different ids that are in none of them; and how many texts have these ids. index: of `ids`."""
    complete = {name: store.units(f"teachers/{name}") for name in names}
    shards = store.shards()
    file, end, places = store.index(list(shards)).positions(index), 0, dict[str, tuple[int, int]]()
    covered = np.zeros(len(ids) // 8 + 1, np.uint8)  # a bit for each text
    for shard in shards:
        start, end = end, end + shards.rows(shard)
        at = file.between(start, end)
        mine = at[at >= 0]
        if _marked(covered, mine).all():
            continue
        lacks = any(name_in_folder(unit) not in complete[n] for n in names for unit in units_of(n, shard, options))
        if lacks and (at < 0).any():
            continue
        np.bitwise_or.at(covered, mine >> 3, (1 << (mine & 7)).astype(np.uint8))
        places[shard] = start, end - start
    lacking, texts = RowFile("the ids of the texts"), 0
    first = index.find(id_blocks(ids))
    for (start, rows), block in zip(first.blocks(BLOCK), id_blocks(ids), strict=True):
        without = ~_marked(covered, rows)
        texts += int(without.sum())
        lacking.append(block[without & (rows == np.arange(start, start + len(rows)))])
    return Shards(places, file), lacking, texts


def _marked(bits: _Array, at: _Array) -> _Array:
    """[n] bool"""
    marked: _Array = (bits[at >> 3] >> (at & 7) & 1).astype(bool)
    return marked


def pending_of(store: Store, teacher: str, shards: Shards, options: SweepOptions) -> list[PendingShard]:
    """The pending shards of one teacher."""
    complete = store.units(f"teachers/{teacher}")
    return [
        PendingShard(
            shard,
            shards.rows(shard),
            [u for u in units_of(teacher, shard, options) if name_in_folder(u) not in complete],
        )
        for shard in shards
    ]


def bytes_needed(n_texts: int, classes: Sequence[int], passes: int, pooled: Sequence[int] = ()) -> int:
    """Size of the arrays that a sweep writes, and of the text ids. `pooled`: the width of every layer whose pooled states are kept."""
    units = [".logits", *(f".passes-{start:04d}" for start in range(0, passes, CHUNK))]
    size = sum(unit_bytes(unit, n_texts, c, passes) for c in classes for unit in units)
    return 16 * n_texts + size + 2 * n_texts * sum(pooled)


def unit_bytes(unit: str, rows: int, classes: int, passes: int, *, width: int = 0) -> int:
    """`passes`: of the sweep. `width`: of hidden states."""
    if ".logits" in unit:
        return 4 * classes * rows
    if ".pooled" in unit:
        return 2 * width * rows
    kept = CHUNK * classes if keeps_single_passes(unit, classes, passes) else 0
    return 4 * (classes + 1 + kept) * rows
