"""Read the store back in any order: a text's row, whichever shard holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.index import Ids, RowIndex
from alloykit.knowledge.rowfile import RowFile
from alloykit.knowledge.store import (
    CHUNK,
    Store,
    logits_unit,
    passes_unit,
    pooled_unit,
)
from alloykit.progress import bar
from alloykit.rows import Rows, TeacherRows

BAR_FROM = 100  # shards; fewer are read in a moment


class StoredKnowledge:
    """A `Source` over the texts of one table, in the table's order; duplicates read the same row.

    `ids`: a text id per text. `passes`: how many Monte-Carlo passes to read, at most what the sweep made.
    `labels`: [n] int64 or None. `layers`: by teacher, the layers whose pooled states to read. AlloyError if anything is missing from the store.

    What the texts need is copied once, row after row, into a temporary file, every checksum being verified on the way;
    then a text is one read from that file, and memory holds four bytes per text.
    """

    def __init__(
        self,
        store: Store,
        teachers: Sequence[str],
        ids: Ids,
        *,
        passes: int = 0,
        labels: Tensor | None = None,
        layers: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.store, self.teachers, self.passes, self.labels = store, tuple(teachers), passes, labels
        self.layers = {name: tuple((layers or {}).get(name, ())) for name in self.teachers}
        shards = store.shards()
        self._starts = np.cumsum([0] + [len(shard) for shard in shards])
        row = RowIndex(shards).find(ids)
        if (row < 0).any():
            self._missing(f"{int((row < 0).sum())} of {len(ids)} texts")
        used = np.zeros(int(self._starts[-1]), dtype=bool)
        used[row] = True
        # The rows that are asked for, ascending; where each text's is among them; and how many texts ask for it.
        self._row = np.flatnonzero(used).astype(np.int32)
        self._place = (np.cumsum(used, dtype=np.int32) - 1)[row]
        self._times = np.bincount(self._place, minlength=len(self._row))
        for shard in self._shards():
            for unit in self._units(shard):
                if not store.has(unit):
                    self._missing(unit)

    def __len__(self) -> int:
        return len(self._place)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = np.asarray(indices, dtype=np.int64)
        values, pooled = self._copy.file.read(self._place[at]), self._pooled_states(at)
        teachers, start = [], 0
        for name, size in zip(self.teachers, self._copy.sizes, strict=True):
            logits = values[:, start : start + size]
            total = values[:, start + size : start + 2 * size]
            start += 2 * size
            teachers.append(
                TeacherRows(
                    logits.contiguous(),
                    total.contiguous() if self.passes else None,
                    torch.full((len(at),), self.passes) if self.passes else None,
                    pooled_states=pooled[name],
                )
            )
        return Rows(tuple(teachers), None if self.labels is None else self.labels[torch.from_numpy(at)])

    def pass_variance(self, teacher: str) -> float | None:
        """Variance of a probability over the Monte-Carlo passes, in the mean over texts and labels. None if single passes
        are not kept or fewer than two were read."""
        total = self._copy.variance[self.teachers.index(teacher)]
        return None if total is None or not len(self) else total / len(self)

    @cached_property
    def _copy(self) -> _Copy:
        """Logits and passes of the rows that the texts need, in the order of the rows."""
        file = RowFile("float32")
        variance, known, sizes = [0.0] * len(self.teachers), [True] * len(self.teachers), [0] * len(self.teachers)
        for shard, mine, position in self._parts("reading knowledge"):
            block = []
            for i, teacher in enumerate(self.teachers):
                said = self._said(teacher, shard, position)
                sizes[i] = said.logits.shape[-1]
                block += [said.logits, said.total]
                known[i] = known[i] and said.variance is not None
                if said.variance is not None:
                    variance[i] += float((said.variance * torch.from_numpy(self._times[mine])).sum())
            file.write(torch.cat(block, -1))
        return _Copy(file.finished(), sizes, [v if k else None for v, k in zip(variance, known, strict=True)])

    @cached_property
    def _pooled(self) -> RowFile:
        """The pooled states of the layers asked for, teacher after teacher, layer after layer."""
        file = RowFile("float16")
        if any(self.layers.values()):
            for shard, _, position in self._parts("reading pooled states"):
                units = [pooled_unit(name, shard, layer) for name in self.teachers for layer in self.layers[name]]
                file.write(torch.cat([self.store.load(unit)["pooled"][position] for unit in units], -1))
        return file.finished()

    @cached_property
    def _widths(self) -> dict[str, list[int]]:
        first = next(iter(self._shards()), None)
        return {
            name: []
            if first is None
            else [self.store.load(pooled_unit(name, first, n))["pooled"].shape[-1] for n in layers]
            for name, layers in self.layers.items()
        }

    def _pooled_states(self, at: np.ndarray[Any, Any]) -> dict[str, tuple[Tensor, ...] | None]:
        if not any(self.layers.values()):
            return dict.fromkeys(self.teachers)
        widths = [width for name in self.teachers for width in self._widths[name]]
        parts = iter(torch.split(self._pooled.read(self._place[at]), widths, dim=-1))
        return {
            name: tuple(next(parts).contiguous() for _ in layers) if layers else None
            for name, layers in self.layers.items()
        }

    def _parts(self, what: str) -> Iterator[tuple[int, slice, Tensor]]:
        """Shard, which of the rows asked for are in it, and where they stand in it."""
        shards = self._shards()
        with bar(what, len(shards) if len(shards) >= BAR_FROM else 0, "shards") as advance:
            for shard in shards:
                mine = slice(*np.searchsorted(self._row, self._starts[[shard, shard + 1]]).tolist())
                yield shard, mine, torch.from_numpy(self._row[mine] - self._starts[shard])
                advance(1 if len(shards) >= BAR_FROM else 0)

    def _said(self, teacher: str, shard: int, position: Tensor) -> _Said:
        logits = self.store.load(logits_unit(teacher, shard))["logits"][position]
        total, single = torch.zeros_like(logits), []
        for start in range(0, self.passes, CHUNK):
            wanted, unit = min(CHUNK, self.passes - start), self.store.load(passes_unit(teacher, shard, start))
            if "per_pass" in unit:
                single.append(unit["per_pass"][:wanted, position])
            elif wanted < CHUNK:
                raise AlloyError(
                    expected=f"a number of passes that is a multiple of {CHUNK} (single passes are not kept here)",
                    got=str(self.passes),
                    hint=f"With so many classes set passes to {start or CHUNK} or {start + CHUNK}.",
                )
            total += unit["probability_sum"][position] if wanted == CHUNK else single[-1].sum(0)
        kept = len(single) * CHUNK >= self.passes > 1
        variance = torch.cat(single).double().var(0).mean(-1) if kept else None
        return _Said(logits, total, variance)

    def _shards(self) -> list[int]:
        return np.unique(np.searchsorted(self._starts, self._row, side="right") - 1).tolist()  # type: ignore[no-any-return]

    def _units(self, shard: int) -> list[str]:
        def passes(teacher: str) -> list[str]:
            return [passes_unit(teacher, shard, start) for start in range(0, self.passes, CHUNK)]

        def pooled(teacher: str) -> list[str]:
            return [pooled_unit(teacher, shard, layer) for layer in self.layers[teacher]]

        return [u for t in self.teachers for u in (logits_unit(t, shard), *passes(t), *pooled(t))]

    def _missing(self, what: str) -> None:
        raise AlloyError(
            expected=f"complete knowledge in {self.store.storage.url}",
            got=f"{what} missing",
            hint="Run `alloykit sweep` with this recipe first; it goes on where it stopped.",
        )


@dataclass(frozen=True)
class _Said:
    """One teacher's answers for some rows of a shard."""

    logits: Tensor
    total: Tensor
    variance: Tensor | None


@dataclass(frozen=True)
class _Copy:
    """`sizes`: labels per teacher; `variance`: of its passes, summed over the texts."""

    file: RowFile
    sizes: list[int]
    variance: list[float | None]
