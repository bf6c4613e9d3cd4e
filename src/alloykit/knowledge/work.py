"""What a sweep has to do: which files of the store are missing, and which texts they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloykit.knowledge.index import RowIndex
from alloykit.knowledge.options import SweepOptions
from alloykit.knowledge.rounds import open_rows, starts_of
from alloykit.knowledge.store import (
    CHUNK,
    PER_PASS_CLASSES,
    Store,
    adaptive_unit,
    logits_unit,
    passes_unit,
    pooled_unit,
    round_unit,
)
from alloykit.uncertainty.adaptive import Rule

Positions = np.ndarray[Any, Any]
Shards = dict[int, Positions]
"""Per shard and row the position of its text in the table, −1 where the text is not in it."""


@dataclass(frozen=True)
class ShardWork:
    """One shard's work for one teacher. `texts`: for each row the position of its text in the table. `rows`: those that are
    computed, all but in later rounds. `units`: what is missing."""

    number: int
    texts: Positions
    rows: Positions
    units: list[str]

    @property
    def reads(self) -> int:
        kinds = [unit.rsplit(".", 1)[1].split("-")[0] for unit in self.units]
        plain = "logits" in kinds or "pooled" in kinds  # one pass gives both
        return len(self.rows) * (plain + CHUNK * sum(kind in ("passes", "round") for kind in kinds))


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
    rows = rows_to_read(store, names, partly, options.adaptive, 0)
    lacking = {w.number for name in names for w in work_of(store, name, partly, options, rows, 0) if w.units}
    if options.adaptive:
        lacking |= {number for number in partly if not is_summarised(store, names, number)}
    if lacking:
        again = np.unique(np.concatenate([partly[number] for number in sorted(lacking)]))
        store.add(ids[again[again >= 0]], again=True)


def rows_to_read(
    store: Store, names: list[str], shards: Shards, rule: Rule | None, round_: int
) -> dict[int, Positions]:
    """Per shard the rows that (this round of) the passes read."""
    if rule is None:
        return {number: np.arange(len(at), dtype=np.int32) for number, at in shards.items()}
    none = np.empty(0, dtype=np.int32)
    return {
        number: none if is_summarised(store, names, number) else open_rows(store, names, number, len(at), rule, round_)
        for number, at in shards.items()
    }


def is_summarised(store: Store, names: list[str], shard: int) -> bool:
    """Whether all rounds of this shard are over."""
    return all(store.has(adaptive_unit(name, shard)) for name in names)


def work_of(
    store: Store, teacher: str, shards: Shards, options: SweepOptions, rows: dict[int, Positions], round_: int
) -> list[ShardWork]:
    """What one teacher has to do: all of it, or in one round of adaptive passes."""
    found = []
    for number, at in shards.items():
        units = [] if round_ else [logits_unit(teacher, number)]
        units += [] if round_ else [pooled_unit(teacher, number, layer) for layer in options.layers.get(teacher, ())]
        if options.adaptive is None:
            units += [passes_unit(teacher, number, start) for start in range(0, options.passes, CHUNK)]
        elif len(rows[number]):
            units += [round_unit(teacher, number, start) for start in starts_of(round_)]
        units = [unit for unit in units if not store.has(unit)]
        # Where all rounds are over, what may be missing beside them is about all rows.
        mine = rows[number] if len(rows[number]) else np.arange(len(at), dtype=np.int32)
        found.append(ShardWork(number, at, mine, units))
    return found


def bytes_needed(
    n_texts: int, classes: Sequence[int], passes: int, adaptive: bool = False, pooled: Sequence[int] = ()
) -> int:
    """Size of the arrays that a sweep writes, and of the text ids; adaptive passes counted as if all texts needed them all.
    `pooled`: the width of every layer whose pooled states are kept."""
    units = [".logits", *(".passes" for _ in range(0, passes, CHUNK)), *([".adaptive"] if adaptive else [])]
    size = sum(unit_bytes(unit, n_texts, c, keep=adaptive) for c in classes for unit in units)
    return 16 * n_texts + size + 2 * n_texts * sum(pooled)


def unit_bytes(unit: str, rows: int, classes: int, *, width: int = 0, keep: bool = False) -> int:
    """`width`: of hidden states. `keep`: single passes are kept however many classes there are."""
    if ".logits" in unit:
        return 4 * classes * rows
    if ".pooled" in unit:
        return 2 * width * rows
    if ".adaptive" in unit:
        return (4 * classes + 20) * rows
    kept = CHUNK * classes if keep or classes <= PER_PASS_CLASSES else 0
    return 4 * (classes + 1 + kept) * rows
